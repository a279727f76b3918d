import { UserError } from "../shared/cli.ts";
import { checkAi, checkDatabases, checkIndexes, checkMetrics, checkPlan, checkQueues, checkWorker } from "./check-account.ts";
import { checkHosts, checkMail } from "./check-domains.ts";
import type { Step } from "./deployment.ts";

/**
 * What the check found: `ok`; a `note` that the operator should know; a `fault` in a part that a deployment does not need; or
 * what is `missing`, without which a deployment would fail or the service not work.
 */
export interface Finding {
  subject: string;
  state: "ok" | "note" | "fault" | "missing";
  /** What was found, and where something is to be done, what and where. */
  text: string;
}

/** Reads the account before anything is made: what is missing there is named at once, with what to do. It changes nothing. */
export const check: Step = {
  title: "Check",
  next: "Nothing was made. Where the check is wrong about your account, `npm run deploy -- --skip-check` goes on without it.",
  run: async ({ api, hasAccount, options, project, say }) => {
    if (!api) {
      const reason = hasAccount ? "there are several accounts: set CLOUDFLARE_ACCOUNT_ID to the id of one" : "not logged in";
      if (options.check) throw new UserError(`The account cannot be read: ${reason}.`);
      return say("the account", `not read: ${reason}`);
    }
    const findings = await Promise.all([
      checkPlan(api),
      checkWorker(api, project),
      checkDatabases(api, project),
      checkQueues(api, project),
      checkIndexes(api, project),
      checkAi(api, project),
      checkMetrics(api, project),
      checkHosts(api, project),
      checkMail(api, project),
    ]);
    const all = findings.flat();
    for (const { subject, state, text } of all)
      say(subject, `${state === "fault" || state === "missing" ? state.toUpperCase() : state} – ${text}`);
    const problems = all.filter(({ state }) => state === "missing" || (options.check && state === "fault")).map(({ subject }) => subject);
    if (problems.length > 0 && !options.skipCheck && !options.dryRun)
      throw new UserError(`to be mended in the account: ${problems.join(", ")}.`);
  },
};
