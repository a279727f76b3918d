import { told } from "../dev/flags.ts";
import { account } from "./account.ts";
import { databases, migrations } from "./databases.ts";
import type { Deployment, Step } from "./deployment.ts";
import { queues } from "./queues.ts";
import { build, deploy } from "./release.ts";
import { secrets } from "./secrets.ts";
import { smoke } from "./smoke.ts";
import { vectors } from "./vectors.ts";

/** A whole deployment: what a Worker needs comes before it. */
export const STEPS: readonly Step[] = [account, build, vectors, queues, databases, migrations, secrets, deploy, smoke];

/** Runs steps in their order, up to the first that fails. Answers what failed and what to do; undefined when all went well. */
export async function runSteps(
  steps: readonly Step[],
  deployment: Deployment,
  begin: (title: string) => void,
): Promise<string | undefined> {
  for (const step of steps) {
    begin(step.title);
    try {
      await step.run(deployment);
    } catch (error) {
      const reason = told(error);
      return `${step.title} failed: ${reason}\n\n${step.next}\nThen run the same command again: it goes on from here.`;
    }
  }
  return undefined;
}
