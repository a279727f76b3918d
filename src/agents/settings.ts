import type { AnswerSettings } from "./settings-wire.ts";
import type { AgentRow } from "./wire.ts";

/** Which settings were given. */
export function settingNames(settings: AnswerSettings = {}): (keyof AnswerSettings)[] {
  return Object.keys(settings) as (keyof AnswerSettings)[];
}

/** The agent as it would be with other settings. */
export function withSettings(agent: AgentRow, settings: AnswerSettings | undefined): AgentRow {
  const { instructions = agent.instructions, confidence_threshold: confidenceThreshold = agent.confidenceThreshold } = settings ?? {};
  const { model = agent.model } = settings ?? {};
  return { ...agent, instructions, confidenceThreshold, model };
}
