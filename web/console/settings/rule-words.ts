import type { Schemas } from "../api.ts";
import { CHANNEL_WORDS } from "../inbox/words.tsx";
import type { Member } from "../members.ts";
import { PRIORITIES, type Team } from "../teams.ts";
import { languageName } from "./languages.ts";

export type Rule = Schemas["RoutingRule"];

/** Returns the names of records, as far as they exist. */
export function namesOf(ids: readonly string[], all: readonly { id: string; name: string }[]): string {
  return ids.flatMap((id) => all.find((one) => one.id === id)?.name ?? []).join(", ");
}

/** Says when a rule applies, after the word if; empty if it always does. */
export function conditionWords(
  { channel, agent_id: agentId, language, tag, contains }: Rule["conditions"],
  agents: readonly Schemas["Agent"][],
): string {
  const words = [
    channel && `the channel is ${CHANNEL_WORDS[channel]}`,
    agentId && `the agent is ${namesOf([agentId], agents) || "one that was deleted"}`,
    language && `the visitor writes in ${languageName(language)}`,
    tag && `it has the tag “${tag}”`,
    contains && `the visitor writes ${contains.map((text) => `“${text}”`).join(" or ")}`,
  ];
  return words.filter(Boolean).join(", and ");
}

/** Says what a rule does. */
export function actionWords(actions: Rule["actions"], teams: readonly Team[], members: readonly Member[]): string {
  const { team_id: teamId, assignee_id: assigneeId, assign, tag, priority } = actions;
  const words = [
    teamId && `Team: ${namesOf([teamId], teams) || "deleted"}${assign ? ", its members take turns" : ""}`,
    assigneeId && `Assigned to ${namesOf([assigneeId], members) || "a member who was removed"}`,
    priority && `Priority: ${PRIORITIES.find(([value]) => value === priority)![1]}`,
    tag && `Tag: ${tag}`,
  ];
  return words.filter(Boolean).join(" · ");
}
