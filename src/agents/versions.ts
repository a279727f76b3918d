import type { VersionSettings } from "../platform/db/columns.ts";
import { fractionOf } from "../platform/db/ids.ts";
import type { AgentRow } from "./wire.ts";

/** The number of the draft, which is not a version yet. */
export const DRAFT = 0;

/** The author of versions that the operator makes. */
export const OPERATOR = "operator";

/** The settings that shape an agent's answers, with their names in the API. The others, such as its name and mailbox, have no versions. */
const FIELDS = {
  language: "language",
  instructions: "instructions",
  welcomeMessage: "welcome_message",
  handoffMessage: "handoff_message",
  confidenceThreshold: "confidence_threshold",
  model: "model",
  tools: "tools",
  languages: "languages",
  handoff: "handoff",
  handoffOffMessages: "handoff_off_messages",
  handoffWords: "handoff_words",
} as const satisfies Record<keyof VersionSettings, string>;

export type VersionedField = (typeof FIELDS)[keyof VersionSettings];

export const VERSIONED = Object.keys(FIELDS) as (keyof VersionSettings)[];

/** Returns the name of a versioned setting in the API. */
export function fieldOf(setting: keyof VersionSettings): VersionedField {
  return FIELDS[setting];
}

/** Returns the versioned settings among the columns of an agent. */
export function versionedIn(columns: { [Name in keyof VersionSettings]?: VersionSettings[Name] | undefined }): Partial<VersionSettings> {
  const given = VERSIONED.filter((name) => columns[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, columns[name]]));
}

/** Returns the settings in which two versions differ. A setting that one of them lacks is the same. */
export function differencesOf(before: Partial<VersionSettings>, after: Partial<VersionSettings>): (keyof VersionSettings)[] {
  return VERSIONED.filter((name) => {
    const isInBoth = before[name] !== undefined && after[name] !== undefined;
    return isInBoth && JSON.stringify(before[name]) !== JSON.stringify(after[name]);
  });
}

/** A version that answers instead of the published one. A draft has only the settings that differ. */
export interface AnsweringVersion {
  number: number;
  settings: Partial<VersionSettings>;
}

/** Returns the agent with the settings of the version that answers. */
export function withVersion(agent: AgentRow, version: AnsweringVersion | null): AgentRow {
  return version === null ? agent : { ...agent, ...version.settings, version: version.number };
}

/**
 * Returns a number from 0 to 1 that is always the same for a conversation. A version that is rolled out to a share of new conversations
 * gets those whose number is below the share.
 */
export function bucketOf(conversationId: string): number {
  return fractionOf(conversationId);
}
