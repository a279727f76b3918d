import { UserError } from "../shared/cli.ts";
import { checkAi, checkDatabases, checkIndexes, checkMetrics, checkPlan, checkQueues, checkWorker } from "./check-account.ts";
import { checkHosts, checkMail } from "./check-domains.ts";
import type { Finding } from "./findings.ts";
import type { Step } from "./deployment.ts";

/** Reads the account before anything is created, and names everything that is missing there. It changes nothing. */
export const check: Step = {
  title: "Check",
  next: "Nothing was made. Where the check is wrong about your account, add `--skip-check` to go on without it.",
  run: async ({ api, options, project, say }) => {
    if (!api) {
      if (options.check) throw new UserError("The account cannot be read: not logged in.");
      return say("the account", "not read: not logged in");
    }
    const findings = await Promise.all([
      checkPlan(api),
      checkWorker(api, project),
      checkDatabases(api, project),
      checkQueues(api, project),
      checkIndexes(api, project),
      checkAi(api, project),
      checkMetrics(api, project),
      checkHosts(api, project, options.takeDomain),
      checkMail(api, project),
    ]);
    const all = findings.flat();
    for (const { subject, state, text } of all)
      say(subject, `${state === "ok" || state === "note" ? state : state.toUpperCase()} – ${text}`);
    const stops = ({ state }: Finding) =>
      state === "taken" || (!options.skipCheck && (state === "missing" || (options.check && state === "fault")));
    const problems = all.filter(stops).map(({ subject }) => subject);
    if (problems.length > 0 && !options.dryRun) throw new UserError(`to be mended: ${problems.join(", ")}.`);
  },
};
