import { z } from "@hono/zod-openapi";
import { CONVERSATION_STATUSES, MAX_TAGS } from "../platform/db/columns.ts";
import { uuid } from "../platform/http/fields.ts";
import { addProblem } from "../platform/http/validation.ts";
import { SETTABLE_STATUSES } from "./status.ts";
import { MAX_SNOOZE_DAYS, snoozeTime, tag } from "./wire.ts";

const MAX_IDS = 100;

const tags = () => z.array(tag().min(1)).max(MAX_TAGS).default([]);

export const bulkUpdateSchema = z
  .object({
    ids: z.array(uuid()).min(1).max(MAX_IDS).meta({ description: "The conversations to change." }),
    status: z.enum(SETTABLE_STATUSES).optional().meta({ description: "The new status. `open` gives the conversations back to the agent." }),
    add_tags: tags().meta({ description: "The tags that each conversation is given, unless it has them." }),
    remove_tags: tags().meta({ description: "The tags that each conversation loses." }),
    snoozed_until: snoozeTime(
      `Hides them from the lists of waiting conversations until this time, at most ${MAX_SNOOZE_DAYS} days ahead. null ends that.`,
    ),
  })
  .superRefine(({ add_tags: added, remove_tags: removed, status, snoozed_until: until }, ctx) => {
    for (const [at, name] of removed.entries()) {
      if (!added.includes(name)) continue;
      addProblem(ctx, "either add or remove a tag", "remove_tags", at);
    }
    if (added.length > 0 || removed.length > 0 || status !== undefined || until !== undefined) return;
    addProblem(ctx, "name at least one change", "status");
  })
  .openapi("ConversationsUpdate", {
    example: { ids: ["019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00"], status: "resolved", add_tags: ["refund"] },
  });

export const bulkResultsSchema = z
  .object({
    data: z.array(
      z.object({
        id: uuid(),
        outcome: z.enum(["changed", "unchanged", "too_many_tags", "not_found"]).meta({
          description: `What happened to the conversation. \`too_many_tags\`: nothing was changed, since it would have more than ${MAX_TAGS} tags.`,
        }),
        previous_status: z
          .enum(CONVERSATION_STATUSES)
          .nullable()
          .meta({ description: "Its status before; null if there is no such conversation." }),
        status: z.enum(CONVERSATION_STATUSES).nullable().meta({ description: "Its status now; null if there is no such conversation." }),
        tags: z.array(z.string()).meta({ description: "Its tags now.", example: ["refund"] }),
      }),
    ),
  })
  .openapi("ConversationsUpdated");
