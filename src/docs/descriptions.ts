import type { z } from "@hono/zod-openapi";
import { contactFormSchema } from "../agents/widget-wire.ts";
import { endUserSchema } from "../chat/wire.ts";
import { memberSchema } from "../conversations/wire.ts";
import { csatSchema, handoffSchema, matchSchema, visitorSchema } from "../conversations/wire.ts";
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
  /** How callers authenticate; `isOptional` where most operations need nothing. */
  credential: { name: string; description: string; variable: string; isOptional?: boolean };
  /** Whether responses carry the headers of the workspace's rate limit. */
  isRateLimited: boolean;
  tags: { name: string; description: string }[];
  /**
   * Components that other records hold "or null". They are registered first, because the generator makes a component nullable
   * when it meets it for the first time in such a place.
   */
  nullableComponents: Record<string, z.ZodType>;
  /** Its further error codes. */
  ownCodes?: Partial<Record<ErrorCode, number>>;
  /** What errors say in this API, where it is not what they say to integrators. */
  errors?: Partial<Record<ErrorStatus, { code: ErrorCode; message: string }>>;
}

const ERRORS = "Errors share one envelope; its `message` says what to do.";

/** The integrators' API. */
export const API: ApiDescription = {
  root: "/api/v1",
  title: "Support Agent Service",
  description: `Programmatic access to one workspace: its AI agents, the conversations held with them, leads, the
knowledge they answer from, usage and analytics, signed webhooks, and privacy requests.

Every operation takes a workspace API key: \`Authorization: Bearer sk_live_…\`. A key carries scopes; rate limits apply
per workspace, all its keys together. ${ERRORS} Fields and parameters that an operation
does not know are ignored, and named in the response header \`X-Unknown-Fields\`.

The examples read \`SUPPORT_URL\` (such as http://localhost:8787), \`SUPPORT_KEY\` and identifiers such as \`AGENT_ID\` from
the environment. Those in TypeScript use the package \`@support-agent/client\`,
which \`npm pack ./client\` makes in the service's repository.`,
  credential: { name: "apiKey", description: "A workspace API key. It begins with `sk_live_`.", variable: "SUPPORT_KEY" },
  isRateLimited: true,
  nullableComponents: {
    EndUser: endUserSchema,
    Visitor: visitorSchema,
    Handoff: handoffSchema,
    Csat: csatSchema,
    TeamMember: memberSchema,
    ConversationMatch: matchSchema,
    SourceError: sourceErrorSchema,
    ContactForm: contactFormSchema,
  },
  tags: [
    { name: "Account", description: "The API key, the plan and its usage." },
    { name: "Agents", description: "The workspace's agents and their settings." },
    { name: "Keys", description: "The workspace's API keys." },
    { name: "Analytics", description: "How well questions are answered." },
    { name: "Chat", description: "Ask an agent." },
    { name: "OpenAI", description: "Ask an agent with the clients of OpenAI's API." },
    { name: "Conversations", description: "Conversations with their transcripts, and replies by your team." },
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
  description: `What the browsers of a website's visitors call, without an API key, from the origins that the agent allows.

The first message or lead starts a visitor. Its response carries a \`visitor_token\`, which later requests of that visitor
send: in the body where it has such a field, else as \`Authorization: Bearer <visitor_token>\`. ${ERRORS}`,
  credential: {
    name: "visitorToken",
    description: "The `visitor_token` of the visitor's latest answer.",
    variable: "VISITOR_TOKEN",
    isOptional: true,
  },
  isRateLimited: false,
  nullableComponents: { EndUser: endUserSchema, Handoff: handoffSchema, ContactForm: contactFormSchema },
  tags: [{ name: "Visitors", description: "Ask an agent, read what came, ask for a human, leave contact details." }],
  ownCodes: VISITOR_STATUS_OF,
  errors: {
    401: { code: "invalid_visitor_token", message: "The visitor_token was ended. Start again without one." },
    402: { code: "quota_exceeded", message: "The agent takes no more questions this month." },
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
  description: `What runs a deployment: workspaces with their plans, keys and agents, usage for billing, health, backup,
rotation of secrets, and the log of what operators did.

Every operation takes the operator's token: \`Authorization: Bearer <OPERATOR_TOKEN>\`. Where a deployment has no
\`OPERATOR_TOKEN\`, every path answers 404. ${ERRORS} A body with a field that the
operation does not know is refused with 422.`,
  credential: { name: "operatorToken", description: "A value of the deployment's secret `OPERATOR_TOKEN`.", variable: "OPERATOR_TOKEN" },
  isRateLimited: false,
  nullableComponents: { ContactForm: contactFormSchema },
  tags: [
    { name: "Workspaces", description: "Tenants with their plans, limits and retention." },
    { name: "Keys", description: "The API keys of a workspace." },
    { name: "Agents", description: "The agents of a workspace, with their mailboxes." },
    { name: "Usage", description: "What workspaces have used, for billing." },
    { name: "Health", description: "What works, what waits and what needs a hand." },
    { name: "Audit", description: "What operators did." },
    { name: "Backup", description: "A workspace as a file." },
    { name: "Secrets", description: "Which keys encrypt what is stored, and a rotation's last step." },
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
