import { expect, test } from "vitest";
import { CONVERSATION_STATUSES, type ConversationStatus, type HandoffReason } from "../../src/platform/db/columns.ts";
import {
  handoffStatusAt,
  isAgentSilent,
  transitionOn,
  transitionTo,
  SETTABLE_STATUSES,
  type Trigger,
  TRIGGERS,
} from "../../src/conversations/status.ts";

/** Every cell: where each trigger leads from open, ai_handled, needs_human, human_active and resolved. */
const EXPECTED: Record<Trigger, ConversationStatus[]> = {
  visitor_wrote: ["open", "ai_handled", "needs_human", "human_active", "open"],
  agent_answered: ["ai_handled", "ai_handled", "needs_human", "human_active", "resolved"],
  agent_handed_off: ["needs_human", "needs_human", "needs_human", "human_active", "needs_human"],
  team_replied: ["human_active", "human_active", "human_active", "human_active", "human_active"],
  team_resolved: ["resolved", "resolved", "resolved", "resolved", "resolved"],
  idled: ["open", "resolved", "needs_human", "human_active", "resolved"],
};

test.each(TRIGGERS)("%s changes each status as specified", (trigger) => {
  expect(CONVERSATION_STATUSES.map(transitionOn(trigger))).toEqual(EXPECTED[trigger]);
});

test.each(SETTABLE_STATUSES)("%s can be set from every status", (status) => {
  expect(CONVERSATION_STATUSES.map(transitionTo(status))).toEqual(CONVERSATION_STATUSES.map(() => status));
});

test("the agent is silent where a human has the conversation, or was promised to the visitor", () => {
  const silentFor = (reason: HandoffReason | null) => CONVERSATION_STATUSES.filter((status) => isAgentSilent(status, reason));
  for (const reason of [null, "customer_request", "unsupported_request"] as const) {
    expect(silentFor(reason)).toEqual(["needs_human", "human_active"]);
  }
  for (const reason of ["missing_knowledge", "low_confidence", "tool_failure", "model_failure"] as const) {
    expect(silentFor(reason)).toEqual(["human_active"]);
  }
});

test("a hand-off follows its conversation", () => {
  expect(CONVERSATION_STATUSES.map(handoffStatusAt)).toEqual(["resolved", "resolved", null, "accepted", "resolved"]);
});
