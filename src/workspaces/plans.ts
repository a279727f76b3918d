import type { Plan } from "../platform/db/columns.ts";

/** The limits of a workspace. An operator may override each by its name. */
export interface Limits {
  requests_per_minute: number;
  /** Questions that agents are asked to answer in a calendar month. */
  messages: number;
  /** Messages of one conversation, all authors together. */
  messages_per_conversation: number;
  /** Messages of visitors in a UTC day; over the API only those that do not use the quota. */
  visitor_messages_per_day: number;
  /** Leads of all agents in a UTC day. */
  leads_per_day: number;
  /** Files that visitors upload in a UTC day. */
  visitor_attachments_per_day: number;
  /** Messages of the team, over the API and the console, in a UTC day. */
  team_messages_per_day: number;
  /** Cases of evaluations in a UTC day. */
  evaluation_cases_per_day: number;
  /** Erasures of persons that are started in a UTC day. */
  erasures_per_day: number;
  /** Syncs of sources that are requested in a UTC day: of new sources, new texts, and at request. Scheduled ones do not count. */
  syncs_per_day: number;
  agents: number;
  /** API keys that are not revoked. */
  api_keys: number;
  /** Members of the team, invited ones included. */
  members: number;
  /** Sources for each agent. */
  sources: number;
  /** The most pages that one website source may read. */
  max_pages: number;
  /** Curated answers of one agent. */
  answers_per_agent: number;
  /** Megabytes of text, extracted from the sources of one agent. */
  knowledge_mb_per_agent: number;
  webhooks: boolean;
  /** Deliveries to webhook endpoints in a UTC day, with tests and redeliveries. */
  deliveries_per_day: number;
  /** Megabytes of the delivery log. */
  delivery_log_mb: number;
  /** Megabytes of the files that messages carry. */
  attachments_mb: number;
}

const PLANS = {
  free: {
    requests_per_minute: 60,
    messages: 100,
    messages_per_conversation: 500,
    visitor_messages_per_day: 50,
    leads_per_day: 50,
    visitor_attachments_per_day: 50,
    team_messages_per_day: 50,
    evaluation_cases_per_day: 50,
    erasures_per_day: 50,
    syncs_per_day: 50,
    agents: 1,
    api_keys: 10,
    members: 3,
    sources: 5,
    max_pages: 100,
    answers_per_agent: 50,
    knowledge_mb_per_agent: 10,
    webhooks: false,
    deliveries_per_day: 1_000,
    delivery_log_mb: 10,
    attachments_mb: 100,
  },
  starter: {
    requests_per_minute: 120,
    messages: 2_000,
    messages_per_conversation: 1_000,
    visitor_messages_per_day: 500,
    leads_per_day: 500,
    visitor_attachments_per_day: 500,
    team_messages_per_day: 500,
    evaluation_cases_per_day: 500,
    erasures_per_day: 500,
    syncs_per_day: 500,
    agents: 3,
    api_keys: 20,
    members: 10,
    sources: 20,
    max_pages: 1_000,
    answers_per_agent: 500,
    knowledge_mb_per_agent: 100,
    webhooks: false,
    deliveries_per_day: 2_000,
    delivery_log_mb: 20,
    attachments_mb: 1_000,
  },
  pro: {
    requests_per_minute: 300,
    messages: 10_000,
    messages_per_conversation: 2_000,
    visitor_messages_per_day: 3_000,
    leads_per_day: 5_000,
    visitor_attachments_per_day: 3_000,
    team_messages_per_day: 3_000,
    evaluation_cases_per_day: 2_000,
    erasures_per_day: 2_000,
    syncs_per_day: 5_000,
    agents: 10,
    api_keys: 50,
    members: 50,
    sources: 100,
    max_pages: 5_000,
    answers_per_agent: 2_000,
    knowledge_mb_per_agent: 500,
    webhooks: true,
    deliveries_per_day: 10_000,
    delivery_log_mb: 100,
    attachments_mb: 4_000,
  },
  enterprise: {
    requests_per_minute: 1_200,
    messages: 100_000,
    messages_per_conversation: 2_000,
    visitor_messages_per_day: 30_000,
    leads_per_day: 50_000,
    visitor_attachments_per_day: 30_000,
    team_messages_per_day: 30_000,
    evaluation_cases_per_day: 10_000,
    erasures_per_day: 10_000,
    syncs_per_day: 100_000,
    agents: 50,
    api_keys: 200,
    members: 500,
    sources: 1_000,
    max_pages: 10_000,
    answers_per_agent: 5_000,
    knowledge_mb_per_agent: 2_000,
    webhooks: true,
    deliveries_per_day: 50_000,
    delivery_log_mb: 1_000,
    attachments_mb: 8_000,
  },
} as const satisfies Record<Plan, Limits>;

/** The megabyte of the limits, in bytes. */
export const MEGABYTE = 1024 * 1024;

/** Converts bytes to megabytes, to two digits after the point, rounded up, so that a small size is not shown as 0. */
export function toMegabytes(bytes: number): number {
  return Math.ceil((bytes / MEGABYTE) * 100) / 100;
}

/** Returns the plan's limits with the operator's overrides. */
export function limitsOf(plan: Plan, overrides: Partial<Limits>): Limits {
  return { ...PLANS[plan], ...overrides };
}

/** Returns the start of a time's billing period and of the next one, in Unix milliseconds. */
export function periodBounds(nowMs: number): { startMs: number; endMs: number } {
  const now = new Date(nowMs);
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()];
  return { startMs: Date.UTC(year, month), endMs: Date.UTC(year, month + 1) };
}
