import type { z } from "@hono/zod-openapi";
import { contactFormSchema } from "../agents/widget-wire.ts";
import { endUserSchema } from "../chat/wire.ts";
import { csatSchema, handoffSchema, matchSchema, teamMemberSchema, visitorSchema } from "../conversations/wire.ts";
import { sourceErrorSchema } from "../knowledge/wire.ts";
import { type ErrorCode, VISITOR_STATUS_OF } from "../platform/http/errors.ts";
import type { ErrorStatus } from "../platform/http/responses.ts";

/** The path that the operations of an API are under. */
export type ApiRoot = "/api/v1" | "/widget/v1" | "/operator/v1";

/** One of the service's APIs, as its OpenAPI document describes it. */
export interface ApiDescription {
  /** The path that its operations are under. */
  root: ApiRoot;
  title: string;
  description: string;
  /** How callers authenticate. `variable` is the environment variable that samples read; `isOptional` if most operations need nothing. */
  credential: { name: string; description: string; variable: string; isOptional?: boolean };
  /** Whether responses carry the headers of the workspace's rate limit. */
  isRateLimited: boolean;
  tags: { name: string; description: string }[];
  /**
   * Components that other records contain as "or null". They are registered first, because the generator makes a component nullable if
   * its first use is nullable.
   */
  nullableComponents: Record<string, z.ZodType>;
  /** The error codes that only this API has. */
  ownCodes?: Partial<Record<ErrorCode, number>>;
  /** The error examples that differ from those of the integrators' API. */
  errors?: Partial<Record<ErrorStatus, { code: ErrorCode; message: string }>>;
}

const ERRORS = "All errors have the same form; their `message` says what to do.";

/** The integrators' API. */
export const API: ApiDescription = {
  root: "/api/v1",
  title: "Support Agent Service",
  description: `Programmatic access to one workspace: its AI agents, the conversations held with them, leads, the
knowledge they answer from, usage and analytics, signed webhooks, and privacy requests.

Every operation takes a workspace API key: \`Authorization: Bearer sk_live_…\`. A key has scopes; the rate limit
applies to all keys of the workspace together. ${ERRORS} Fields and parameters that an operation
does not know are ignored, and named in the response header \`X-Unknown-Fields\`, with the name that was probably meant.

The examples read \`SUPPORT_URL\`, \`SUPPORT_KEY\` and \`SUPPORT_AGENT\`, which \`npm run dev\` prints, and other identifiers such as
\`CONVERSATION_ID\` from the environment. Those in TypeScript use the package \`@support-agent/client\`,
which \`npm pack ./client\` makes in the service's repository.`,
  credential: { name: "apiKey", description: "A workspace API key. It begins with `sk_live_`.", variable: "SUPPORT_KEY" },
  isRateLimited: true,
  nullableComponents: {
    EndUser: endUserSchema,
    Visitor: visitorSchema,
    Handoff: handoffSchema,
    Csat: csatSchema,
    TeamMember: teamMemberSchema,
    ConversationMatch: matchSchema,
    SourceError: sourceErrorSchema,
    ContactForm: contactFormSchema,
  },
  tags: [
    { name: "Account", description: "The API key, the plan and its usage." },
    { name: "Agents", description: "The workspace's agents and their settings." },
    { name: "Keys", description: "The workspace's API keys." },
    { name: "Members", description: "The people of your team, where they are signed in, and what was done in the workspace." },
    { name: "Analytics", description: "Figures about how well questions are answered." },
    { name: "Chat", description: "Ask an agent questions." },
    { name: "OpenAI", description: "Ask an agent with the clients of OpenAI's API." },
    { name: "Conversations", description: "Conversations with their transcripts, and replies by your team." },
    { name: "Routing", description: "Teams, and the rules that give them conversations." },
    { name: "Leads", description: "Contact details that visitors leave." },
    { name: "Knowledge", description: "Sources, curated answers and search." },
    { name: "Evaluations", description: "Run questions again after a change, and see what became better or worse." },
    { name: "Webhooks", description: "Signed events, sent to your endpoints, retried and logged." },
    { name: "Privacy", description: "Find, export and erase the data of one person." },
  ],
};

/** The visitors' API. */
const WIDGET: ApiDescription = {
  root: "/widget/v1",
  title: "Support Agent Service for visitors",
  description: `The API that the browsers of a website's visitors call, without an API key, from the origins that the agent allows.

The first message or lead creates a visitor. Its response contains a \`visitor_token\`, which later requests of that visitor
send: in the body if it has such a field, otherwise as \`Authorization: Bearer <visitor_token>\`. ${ERRORS}`,
  credential: {
    name: "visitorToken",
    description: "The `visitor_token` of the latest response to the visitor.",
    variable: "VISITOR_TOKEN",
    isOptional: true,
  },
  isRateLimited: false,
  nullableComponents: { EndUser: endUserSchema, Handoff: handoffSchema, ContactForm: contactFormSchema },
  tags: [{ name: "Visitors", description: "Ask an agent, read its messages, ask for a human, leave contact details." }],
  ownCodes: VISITOR_STATUS_OF,
  errors: {
    401: { code: "invalid_visitor_token", message: "The visitor_token is no longer valid. Start again without one." },
    402: { code: "quota_exceeded", message: "The agent accepts no more questions this month." },
    403: { code: "origin_not_allowed", message: "The agent does not allow this origin. Add it to the agent's allowed_origins." },
    404: { code: "not_found", message: "No agent with this id. Check the id." },
    409: { code: "conflict", message: "The conversation is with another agent. Leave conversation_id out to start a new one." },
    429: { code: "rate_limited", message: "You have sent many messages. Please try again in 20 minutes." },
  },
};

/** The operator's API. */
const OPERATOR: ApiDescription = {
  root: "/operator/v1",
  title: "Support Agent Service for operators",
  description: `Operation of a deployment: workspaces with their plans, keys and agents, usage for billing, health, backup,
rotation of secrets, and the audit log.

Every operation takes the operator's token: \`Authorization: Bearer <OPERATOR_TOKEN>\`. If a deployment has no
\`OPERATOR_TOKEN\`, every path answers 404. The health also accepts a \`HEALTH_TOKEN\`. ${ERRORS} A body with a field that the
operation does not know is refused with 422.`,
  credential: { name: "operatorToken", description: "A value of the deployment's secret `OPERATOR_TOKEN`.", variable: "OPERATOR_TOKEN" },
  isRateLimited: false,
  nullableComponents: { ContactForm: contactFormSchema },
  tags: [
    { name: "Workspaces", description: "Tenants with their plans, limits and retention." },
    { name: "Keys", description: "The API keys of a workspace." },
    { name: "Agents", description: "The agents of a workspace, with their mailboxes." },
    { name: "Usage", description: "The usage of workspaces, for billing." },
    { name: "Health", description: "The state of the deployment: what works, what waits and what needs attention." },
    { name: "Audit", description: "The log of what operators did." },
    { name: "Backup", description: "Export and import of a workspace as a file." },
    { name: "Databases", description: "The databases, and the moves of logical shards between them." },
    { name: "Secrets", description: "The keys that encrypt stored secrets, and the last step of a rotation." },
  ],
  errors: {
    401: { code: "invalid_api_key", message: "This is not the operator's token." },
    403: {
      code: "plan_required",
      message: "The workspace has as many agents as its plan includes. Delete one, or have the operator raise the plan or limits.agents.",
    },
    404: { code: "not_found", message: "No workspace with this id, or it was deleted. Check the id in the list of workspaces." },
    409: { code: "conflict", message: "Another workspace has this slug. Choose another one." },
    429: { code: "rate_limited", message: "Too many requests without a valid API key from this address. Try again in 12 s." },
  },
};

/** The APIs that have an OpenAPI document. */
export const DESCRIPTIONS: Readonly<Record<ApiRoot, ApiDescription>> = {
  "/api/v1": API,
  "/widget/v1": WIDGET,
  "/operator/v1": OPERATOR,
};
