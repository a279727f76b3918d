/*
 * The values of enum columns and the types of JSON columns, shared by the table schema, the wire schemas and the features.
 */

export const PLAN_NAMES = ["free", "starter", "pro", "enterprise"] as const;
export type Plan = (typeof PLAN_NAMES)[number];

export const MEMBER_ROLES = ["owner", "admin", "agent", "viewer", "custom"] as const;
export type MemberRole = (typeof MEMBER_ROLES)[number];
export const MEMBER_STATUSES = ["invited", "active", "removed"] as const;
export const AVAILABILITIES = ["available", "away"] as const;

/** How a member signs in to the console: by an invitation or a link in a mail, OpenID Connect, or Cloudflare Access. */
export const SIGN_IN_METHODS = ["invitation", "mail", "oidc", "access"] as const;
export type SignInMethod = (typeof SIGN_IN_METHODS)[number];

/** An access token of a connected application. */
export interface ApplicationToken {
  /** SHA-256 of the token, hex. The token itself is not stored. */
  hash: string;
  scopes: string[];
  /** Unix milliseconds. */
  expiresAt: number;
}

/** The ways into the console that a workspace allows. Invitations always work; `key` stands for API keys and links that hold one. */
export const CONSOLE_METHODS = ["oidc", "access", "mail", "key"] as const;
export type ConsoleMethod = (typeof CONSOLE_METHODS)[number];

/** The states of a logical shard in a database that it moves from or to. */
export const SHARD_STATES = ["copying", "held", "left", "arriving", "here"] as const;

export const AGENT_STATUSES = ["active", "paused"] as const;

/** The channel on which a conversation takes place. */
export const CHANNELS = ["widget", "hosted", "email", "api", "playground"] as const;
export type Channel = (typeof CHANNELS)[number];

/** The channels on which visitors write from a browser. */
export const VISITOR_CHANNELS = ["widget", "hosted"] as const satisfies Channel[];

export const CONVERSATION_STATUSES = ["open", "ai_handled", "needs_human", "human_active", "resolved"] as const;
export type ConversationStatus = (typeof CONVERSATION_STATUSES)[number];

/** The largest number of tags of a conversation. */
export const MAX_TAGS = 20;
export const MAX_TAG_LENGTH = 200;

export const PRIORITIES = ["low", "normal", "high", "urgent"] as const;
export type Priority = (typeof PRIORITIES)[number];

/** What a conversation is to be like for a routing rule to apply. A field that is missing does not matter. */
export interface RuleConditions {
  channel?: Exclude<Channel, "playground"> | undefined;
  agent_id?: string | undefined;
  /** The code of the language in which the visitor writes. */
  language?: string | undefined;
  tag?: string | undefined;
  /** Words and phrases, as they were written, one of which the visitor has used. */
  contains?: string[] | undefined;
}

/** What a routing rule does with a conversation. */
export interface RuleActions {
  team_id?: string | undefined;
  assignee_id?: string | undefined;
  /** Gives it to a member of the team. */
  assign?: "round_robin" | undefined;
  tag?: string | undefined;
  priority?: Priority | undefined;
}

/** Who changes a conversation: a signed-in member of the team, or a program with an API key. */
export type Changer = "human" | "api";
/** Who resolved a conversation. `auto` means that its idle time was over. Agents resolve no conversations, so `ai` is never stored. */
export const RESOLVERS = ["ai", "human", "api", "auto"] as const;
export type Resolver = (typeof RESOLVERS)[number];
export const MESSAGE_ROLES = ["user", "assistant", "human", "system"] as const;
export type MessageRole = (typeof MESSAGE_ROLES)[number];
/** The roles in a transcript for the team, which has the team's notes among the messages. */
export const TRANSCRIPT_ROLES = [...MESSAGE_ROLES, "note"] as const;
export const AUTHOR_TYPES = ["visitor", "agent", "member", "system"] as const;

/** The types of files that messages carry, each recognized by its first bytes. */
export const ATTACHMENT_TYPES = ["image/jpeg", "image/png", "image/webp", "image/gif", "application/pdf", "text/plain"] as const;
export type AttachmentType = (typeof ATTACHMENT_TYPES)[number];

/** A file of a message, in `messages.attachments`. */
export interface MessageAttachment {
  id: string;
  name: string;
  type: AttachmentType;
  size: number;
}

/** Why an agent handed a conversation to a human. */
export const HANDOFF_REASONS = [
  "customer_request",
  "missing_knowledge",
  "low_confidence",
  "unsupported_request",
  "tool_failure",
  "model_failure",
  "approval_required",
  "approval_expired",
] as const;
export type HandoffReason = (typeof HANDOFF_REASONS)[number];
/** The reasons that say that the agent could not answer the question. */
export const UNANSWERED_REASONS: readonly HandoffReason[] = ["missing_knowledge", "low_confidence"];

/** How an answer is rated. */
export const RATINGS = ["up", "down"] as const;

export const HANDOFF_STATUSES = ["pending", "accepted", "resolved"] as const;

/** The statuses of a tool call that needs the approval of the team. */
export const APPROVAL_STATUSES = ["pending", "approved", "declined", "expired"] as const;
export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];

/** What an approved call did; `unknown` if it may have taken effect. */
export const APPROVAL_OUTCOMES = ["answered", "failed", "unknown"] as const;
export type ApprovalOutcome = (typeof APPROVAL_OUTCOMES)[number];

/** The statuses of a draft of a curated answer. */
export const DRAFT_STATUSES = ["pending", "accepted", "dismissed"] as const;

export const SOURCE_TYPES = ["website", "url", "text", "file"] as const;
export const SOURCE_STATUSES = ["pending", "processing", "ready", "failed"] as const;
/** How often a source is synced automatically. */
export const SCHEDULES = ["manual", "daily", "weekly"] as const;

export const DELIVERY_STATUSES = ["pending", "succeeded", "failed"] as const;
export const DELIVERY_TRIGGERS = ["event", "test", "redelivery"] as const;

export const EVALUATION_STATUSES = ["pending", "running", "completed", "failed"] as const;
/**
 * The result of a case: `right` if the answer is as expected, `wrong` if it is another one, `refused` if the question was handed off although an
 * answer was expected, `failed` if the service failed.
 */
export const VERDICTS = ["right", "wrong", "refused", "failed"] as const;
export type Verdict = (typeof VERDICTS)[number];

/** The expectations of an answer, or of a whole conversation. All that are given must be met. */
export interface Expectation {
  /** The source or curated answer that is cited. */
  source_id?: string | undefined;
  /** A text that the answer contains; upper and lower case are the same. */
  answer_contains?: string | undefined;
  /** Whether the question is handed off instead. */
  refusal?: boolean | undefined;
  /** The reason for which it is handed off. */
  handoff_reason?: Exclude<HandoffReason, "model_failure" | "approval_expired"> | undefined;
  /** Texts that the answer contains, and texts that it does not contain. */
  said?: string[] | undefined;
  not_said?: string[] | undefined;
  /** Tools that are called, with these arguments among others. */
  tools_called?: ExpectedCall[] | undefined;
  /** What holds, in words: the language model judges it. */
  criteria?: string[] | undefined;
  /** Whether the visitor that the model plays reaches the goal. */
  goal_reached?: boolean | undefined;
}

export interface ExpectedCall {
  name: string;
  arguments?: Record<string, unknown> | undefined;
}

/** A visitor that the language model plays. */
export interface Persona {
  goal: string;
  /** What the visitor knows. */
  facts: string;
  max_turns: number;
}

/** A case of several turns. The messages of fixed turns are the previous questions and the question of its row. */
export interface MultiTurnCase {
  /** What the conversation runs with, apart from fixed messages. Cases that differ in it are different. */
  setting: { persona: Persona | null; tools: Record<string, unknown> };
  /** The expectations of each fixed turn. */
  turns: (Expectation | null)[];
}

/** The expectations of a case. Those of a case of several turns are of its whole conversation. */
export interface CaseExpectation extends Expectation {
  /** Undefined for a case of one question. */
  rehearsal?: MultiTurnCase | undefined;
}

/** The labels of a source or of a curated answer. Filters refer to them. */
export type Metadata = Record<string, string>;

/** The HTTP methods of agents' tools. */
export const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
export type Method = (typeof METHODS)[number];

export const WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] as const;

/** A part of a day, in times such as 09:00. It ends on the same day, at 24:00 at the latest. */
export interface TimeInterval {
  from: string;
  to: string;
}

/** When the team of a workspace is there. */
export interface BusinessHours {
  /** A name of the IANA time zone database. */
  time_zone: string;
  /** Null if the team is always there. */
  hours: Partial<Record<(typeof WEEKDAYS)[number], TimeInterval[]>> | null;
  /** Days on which the team is not there, such as 2026-12-25. */
  holidays: string[];
  /** What visitors read outside the hours; null for the usual text. */
  closed_message: string | null;
  ask_contact_details: boolean;
}

export const HANDOFF_SETTINGS = ["on", "off"] as const;

/** The settings of an agent that shape its answers, which a version keeps. Header values of tools are encrypted. */
export interface VersionSettings {
  language: string;
  instructions: string | null;
  welcomeMessage: string;
  handoffMessage: string;
  confidenceThreshold: number;
  model: string | null;
  tools: StoredTool[];
  languages: Record<string, Record<string, string>>;
  handoff: (typeof HANDOFF_SETTINGS)[number];
  handoffOffMessages: Record<string, string>;
  handoffWords: string[];
}

/** The parameters of a tool as JSON Schema, in the subset that agents/tool-parameters.ts accepts. */
export interface ToolParameters {
  type: "object";
  properties: Record<string, { type?: string | string[] | undefined }>;
  required?: string[];
}

/** A tool of an agent, in `agents.tools`: a request to an API, the tools of an MCP server, or a function of whoever asks the agent. */
export type StoredTool = StoredHttpTool | StoredMcpServer | StoredClientTool;

/** Where a client tool runs: in the integrator's program that asks over the API, or in the browser of a visitor. */
export const CLIENT_SURFACES = ["server", "browser"] as const;
export type ClientSurface = (typeof CLIENT_SURFACES)[number];

/** A function that whoever asks the agent runs. The turn waits for its result. */
export interface StoredClientTool {
  type: "client";
  name: string;
  description: string;
  parameters: ToolParameters;
  runsIn: ClientSurface;
}

interface StoredTarget {
  name: string;
  url: string;
  /** The headers by name. Their values are encrypted, each bound to its tool and name: see agents/secrets.ts. */
  headers: Record<string, string>;
  /** The variables that the encrypted values use, by header. */
  headerVariables: Record<string, string[]>;
  requiresVerifiedVisitor: boolean;
  /** Whether a member of the team approves each call that may change something. Tools that 1.0.0 saved lack it. */
  requiresApproval?: boolean;
  timeoutSeconds: number;
}

/** A request to an API. Its URL has a placeholder such as `{order}` for each parameter in path or query. */
export interface StoredHttpTool extends StoredTarget {
  type?: "http" | undefined;
  description: string;
  parameters: ToolParameters;
  method: Method;
  /** The fixed fields of the JSON body, in addition to the parameters. */
  body: Record<string, unknown>;
}

/** A server of the Model Context Protocol. */
export interface StoredMcpServer extends StoredTarget {
  type: "mcp";
  /** The names of the tools that may be called; null for all tools that the server had when it was saved. */
  allowedTools: string[] | null;
  /** The allowed tools, as the server described them when it was saved. */
  tools: PinnedTool[];
  /** Why the tools are switched off until the server is saved again; null while they are on. */
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

/** An encrypted secret of a webhook endpoint in `webhook_endpoints.older_secrets`, which signs until its time. */
export interface OlderSecret {
  secret: string;
  untilMs: number;
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

/** What is masked in the texts of a workspace, in `workspaces.redaction`. A field that is missing is off. */
export interface RedactionSettings {
  /** Numbers of payment cards. */
  card: boolean;
  iban: boolean;
  /** The workspace's own patterns. */
  patterns: RedactionPattern[];
}

export interface RedactionPattern {
  /** What is masked, as the mask says it. */
  name: string;
  /** A regular expression of RE2. */
  pattern: string;
}

/** The position and the content of the launcher of a chat, and the colours of the chat. */
export const POSITIONS = ["right", "left"] as const;
export const LAUNCHERS = ["icon", "label", "hidden"] as const;
export const THEMES = ["auto", "light", "dark"] as const;

/** The appearance of an agent's chat, in `agents.appearance`. Fields may be missing there; agents/widget-wire.ts has their defaults. */
export interface Appearance {
  accent: string;
  position: (typeof POSITIONS)[number];
  launcher: (typeof LAUNCHERS)[number];
  greeting: string | null;
  suggestions: string[];
  theme: (typeof THEMES)[number];
  show_branding: boolean;
}

/** The form in which visitors leave their contact details, in `agents.contact_form`. */
export interface ContactForm {
  fields: { name: string; label: string | null; required: boolean; options: string[] }[];
}

/** An agent's page /chat/{agent_id}, in `agents.hosted_page`. */
export interface HostedPage {
  enabled: boolean;
  /** Whether search engines may list it. */
  indexed: boolean;
}
