import type { Schemas } from "../index.ts";
import { choiceOf, defineCommand } from "./command.ts";
import { connect } from "./environment.ts";
import { FailedError, UsageError } from "./errors.ts";
import { printRecord, printTable } from "./terminal.ts";

type Result = Schemas["ConversationsUpdated"]["data"][number];

const STATUSES = ["open", "resolved", "needs_human", "human_active"] as const;
/** How many conversations the API changes at once. */
const LARGEST_PART = 100;

export const updateConversations = defineCommand({
  name: "conversations update",
  about: "Changes the status and the tags of conversations.",
  parameters: "CONVERSATION_ID ...",
  options: {
    status: { type: "string", value: "STATUS", about: `The new status: ${STATUSES.join(", ")}.` },
    tag: { type: "string", multiple: true, value: "TAG", about: "A tag to add. Repeat it for several." },
    untag: { type: "string", multiple: true, value: "TAG", about: "A tag to remove. Repeat it for several." },
  },
  examples: ["support-agent conversations update 019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00 --status resolved --tag refund"],
  run: async ({ parameters: ids, options: { status, tag = [], untag = [], json } }) => {
    if (ids.length === 0) throw new UsageError("CONVERSATION_ID is missing. See: support-agent conversations ls");
    const changes = { status: choiceOf("status", status, STATUSES), add_tags: tag, remove_tags: untag };
    const client = connect();
    const results: Result[] = [];
    try {
      for (let at = 0; at < ids.length; at += LARGEST_PART) {
        const body = { ids: ids.slice(at, at + LARGEST_PART), ...changes };
        results.push(...(await client.updateConversations({ body })).data);
      }
    } finally {
      // What was changed before a failure is shown, too.
      const rows = results.map((one) => [one.id, one.outcome, one.status ?? "", one.tags.join(", ")]);
      if (json) results.forEach(printRecord);
      else if (rows.length > 0) printTable(["ID", "OUTCOME", "STATUS", "TAGS"], rows);
    }
    const refused = results.filter(({ outcome }) => outcome === "not_found" || outcome === "too_many_tags").length;
    if (refused > 0) throw new FailedError(`${refused} of ${results.length} could not be changed.`);
  },
});
