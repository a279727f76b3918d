/*
 * The values of enum columns and the types of JSON columns, shared by the table schema, the wire schemas and the features.
 */

export const PLAN_NAMES = ["free", "starter", "pro", "enterprise"] as const;
export type Plan = (typeof PLAN_NAMES)[number];

export const AGENT_STATUSES = ["active", "paused"] as const;

/** The channel on which a conversation takes place. */
export const CHANNELS = ["widget", "hosted", "email", "api", "playground"] as const;
export type Channel = (typeof CHANNELS)[number];

/** The channels on which visitors write from a browser. */
export const VISITOR_CHANNELS = ["widget", "hosted"] as const satisfies Channel[];

export const CONVERSATION_STATUSES = ["open", "ai_handled", "needs_human", "human_active", "resolved"] as const;
export type ConversationStatus = (typeof CONVERSATION_STATUSES)[number];

export const RESOLVERS = ["ai", "human", "api", "auto"] as const;
export const MESSAGE_ROLES = ["user", "assistant", "human", "system"] as const;
export type MessageRole = (typeof MESSAGE_ROLES)[number];
/** What a transcript for the team holds: the messages, and the team's notes between them. */
export const TRANSCRIPT_ROLES = [...MESSAGE_ROLES, "note"] as const;
export const AUTHOR_TYPES = ["visitor", "agent", "member", "system"] as const;

/** Why an agent handed a conversation to a human. */
export const HANDOFF_REASONS = [
  "customer_request",
  "missing_knowledge",
  "low_confidence",
  "unsupported_request",
  "tool_failure",
  "model_failure",
] as const;
export type HandoffReason = (typeof HANDOFF_REASONS)[number];
/** The reasons that say that the agent could not answer the question. */
export const UNANSWERED_REASONS: readonly HandoffReason[] = ["missing_knowledge", "low_confidence"];

/** How an answer is rated. */
export const RATINGS = ["up", "down"] as const;

export const HANDOFF_STATUSES = ["pending", "accepted", "resolved"] as const;

/** What became of a draft of a curated answer. */
export const DRAFT_STATUSES = ["pending", "accepted", "dismissed"] as const;

export const SOURCE_TYPES = ["website", "url", "text", "file"] as const;
export const SOURCE_STATUSES = ["pending", "processing", "ready", "failed"] as const;
/** How often a source is synced automatically. */
export const SCHEDULES = ["manual", "daily", "weekly"] as const;

export const DELIVERY_STATUSES = ["pending", "succeeded", "failed"] as const;
export const DELIVERY_TRIGGERS = ["event", "test", "redelivery"] as const;

export const EVALUATION_STATUSES = ["pending", "running", "completed", "failed"] as const;
/** The result of a case: as expected; answered otherwise; handed over although an answer was expected; the service failed. */
export const VERDICTS = ["right", "wrong", "refused", "failed"] as const;
export type Verdict = (typeof VERDICTS)[number];

/** What is expected of the answer to a case. What is given must all hold. */
export interface Expectation {
  /** The source or curated answer that it cites. */
  source_id?: string | undefined;
  /** What it says, whatever the case. */
  answer_contains?: string | undefined;
  /** Whether it is handed over instead. */
  refusal?: boolean | undefined;
}

/** Labels of a source or of a curated answer, which filters name. */
export type Metadata = Record<string, string>;

/** The HTTP methods of agents' tools. */
export const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
export type Method = (typeof METHODS)[number];

/** The parameters of a tool as JSON Schema, in the subset that agents/tool-parameters.ts accepts. */
export interface ToolParameters {
  type: "object";
  properties: Record<string, { type?: string | string[] | undefined }>;
  required?: string[];
}

/** What an agent calls, in `agents.tools`: a request to an API, or the tools of a server. */
export type StoredTool = StoredHttpTool | StoredMcpServer;

interface StoredTarget {
  name: string;
  url: string;
  /** The headers by name. Their values are encrypted, each bound to its tool and name: see agents/secrets.ts. */
  headers: Record<string, string>;
  /** The variables that the encrypted values name, by header. */
  headerVariables: Record<string, string[]>;
  requiresVerifiedVisitor: boolean;
  timeoutSeconds: number;
}

/** Its URL has a placeholder such as `{order}` for each parameter in path or query. */
export interface StoredHttpTool extends StoredTarget {
  type?: "http" | undefined;
  description: string;
  parameters: ToolParameters;
  method: Method;
  /** Fields of the JSON body that the operator wrote, beside the parameters. */
  body: Record<string, unknown>;
}

/** A server of the Model Context Protocol. */
export interface StoredMcpServer extends StoredTarget {
  type: "mcp";
  /** The names of the tools that may be called; null for all that it had when it was saved. */
  allowedTools: string[] | null;
  /** Those tools as the server described them then. */
  tools: PinnedTool[];
  /** Why none of them is called, until the server is saved again; null while they are. */
  problem: string | null;
}

/** A server's tool as it was when somebody allowed it. */
export interface PinnedTool {
  name: string;
  description: string;
  parameters: Record<string, unknown>;
  isReadOnly: boolean;
  /** The hash of everything that the server tells a model about the tool. */
  hash: string;
}

/** How many days a workspace's records are kept, in `workspaces.retention`; null keeps them forever. */
export interface Retention {
  /** The days after its last activity for which a conversation is kept, with its messages, hand-offs and events. */
  conversations_days: number | null;
  /** The days after its creation for which a lead is kept, with its events. */
  leads_days: number | null;
  /** The days for which an event is kept, with its deliveries and their attempts. */
  event_log_days: number;
}

/** The position and the content of the launcher of a chat, and the colours of the chat. */
export const POSITIONS = ["right", "left"] as const;
export const LAUNCHERS = ["icon", "label", "hidden"] as const;
export const THEMES = ["auto", "light", "dark"] as const;

/** How an agent's chat looks, in `agents.appearance`, where fields may be missing: agents/widget-wire.ts has the defaults. */
export interface Appearance {
  accent: string;
  position: (typeof POSITIONS)[number];
  launcher: (typeof LAUNCHERS)[number];
  greeting: string | null;
  suggestions: string[];
  theme: (typeof THEMES)[number];
  show_branding: boolean;
}

/** What an agent's chat asks of a visitor who wants to be called back, in `agents.contact_form`. */
export interface ContactForm {
  fields: { name: string; label: string | null; required: boolean; options: string[] }[];
}

/** An agent's page /chat/{agent_id}, in `agents.hosted_page`. */
export interface HostedPage {
  enabled: boolean;
  /** Whether search engines may list it. */
  indexed: boolean;
}
