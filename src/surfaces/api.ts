import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Hono } from "hono";
import { acceptSlugs } from "../agents/checks.ts";
import { requireAllowedSession, useSession } from "../console/session.ts";
import type { AppEnv } from "../platform/http/context.ts";
import { requireConfig, requireKey } from "../workspaces/checks.ts";
import { createApiSurface } from "./surface.ts";

/** A part of the integrators' API, which is loaded with the first request for it. */
export interface Feature {
  /** The places of its operations, as `placeOf` returns them. A test compares them with the paths of its routes. */
  at: readonly string[];
  load: () => Promise<OpenAPIHono<AppEnv>>;
}

/** The features, in the order of the OpenAPI document. If several features have the same place, all of them are loaded. */
export const FEATURES: readonly Feature[] = [
  { at: ["me", "usage"], load: async () => (await import("../workspaces/routes.ts")).accountRoutes },
  { at: ["agents", "agents/rotate-identity-secret"], load: async () => (await import("../administration/agent-routes.ts")).agentRoutes },
  { at: ["agents/versions", "agents/rollout"], load: async () => (await import("../administration/version-routes.ts")).versionRoutes },
  { at: ["agents/tools"], load: async () => (await import("../administration/tool-routes.ts")).toolRoutes },
  { at: ["members"], load: async () => (await import("../members/routes.ts")).memberRoutes },
  { at: ["members"], load: async () => (await import("../members/application-routes.ts")).applicationRoutes },
  { at: ["sign-in"], load: async () => (await import("../members/sign-in-routes.ts")).signInRoutes },
  { at: ["audit"], load: async () => (await import("../members/audit-routes.ts")).auditRoutes },
  { at: ["keys"], load: async () => (await import("../administration/key-routes.ts")).keyRoutes },
  { at: ["agents/messages", "conversations"], load: async () => (await import("../chat/routes.ts")).chatRoutes },
  { at: ["openai"], load: async () => (await import("../chat/openai-routes.ts")).openAiRoutes },
  { at: ["conversations", "feedback"], load: async () => (await import("../conversations/routes.ts")).conversationRoutes },
  { at: ["conversations"], load: async () => (await import("../chat/message-routes.ts")).messageRoutes },
  { at: ["conversations"], load: async () => (await import("../chat/conversation-change-routes.ts")).conversationChangeRoutes },
  { at: ["conversations"], load: async () => (await import("../chat/bulk-routes.ts")).bulkRoutes },
  { at: ["conversations"], load: async () => (await import("../chat/suggestion-routes.ts")).suggestionRoutes },
  { at: ["attachments"], load: async () => (await import("../attachments/routes.ts")).attachmentRoutes },
  { at: ["approvals"], load: async () => (await import("../chat/approval-routes.ts")).approvalRoutes },
  { at: ["saved-replies"], load: async () => (await import("../conversations/saved-reply-routes.ts")).savedReplyRoutes },
  { at: ["business-hours"], load: async () => (await import("../workspaces/business-hours-routes.ts")).businessHoursRoutes },
  { at: ["teams"], load: async () => (await import("../routing/team-routes.ts")).teamRoutes },
  { at: ["routing-rules"], load: async () => (await import("../routing/rule-routes.ts")).ruleRoutes },
  { at: ["leads"], load: async () => (await import("../leads/routes.ts")).leadRoutes },
  {
    at: ["agents/sources", "agents/answers", "agents/search"],
    load: async () => (await import("../knowledge/routes.ts")).knowledgeRoutes,
  },
  { at: ["agents/drafts"], load: async () => (await import("../knowledge/draft-routes.ts")).draftRoutes },
  { at: ["agents/evaluations"], load: async () => (await import("../evaluations/routes.ts")).evaluationRoutes },
  { at: ["conversations"], load: async () => (await import("../evaluations/conversation-routes.ts")).conversationCaseRoutes },
  { at: ["agents/gaps", "analytics"], load: async () => (await import("../analytics/routes.ts")).analyticsRoutes },
  { at: ["privacy"], load: async () => (await import("../privacy/routes.ts")).privacyRoutes },
  { at: ["privacy"], load: async () => (await import("../privacy/redaction-routes.ts")).redactionRoutes },
  { at: ["webhooks"], load: async () => (await import("../webhooks/routes.ts")).webhookRoutes },
  { at: ["webhooks"], load: async () => (await import("../webhooks/delivery-routes.ts")).deliveryRoutes },
  { at: ["events"], load: async () => (await import("../webhooks/event-routes.ts")).eventRoutes },
];

const PLACES: ReadonlySet<string> = new Set(FEATURES.flatMap(({ at }) => at));

/**
 * The place of a path under /api/v1: its first segment or, under an agent, `agents/` and the segment after the agent's id. A path
 * without a feature has the empty place.
 */
export function placeOf(path: string): string {
  const [, , , collection = "", , subcollection] = path.split("/", 6);
  const place = collection === "agents" && subcollection !== undefined ? `agents/${subcollection}` : collection;
  return PLACES.has(place) ? place : "";
}

/** Loads the surface of the integrators' API with the features of one place. */
export async function loadApi(place: string): Promise<Hono<AppEnv>> {
  const features = FEATURES.filter(({ at }) => at.includes(place));
  const routers = await Promise.all(features.map(({ load }) => load()));
  const errors = place === "openai" ? [(await import("../chat/openai-routes.ts")).openAiErrors] : [];
  return createApiSurface(
    "/api/v1",
    routers,
    [...errors, requireConfig, useSession, requireKey, requireAllowedSession, acceptSlugs],
    loadRouters,
  );
}

/** The routers of all features. */
export function loadRouters(): Promise<OpenAPIHono<AppEnv>[]> {
  return Promise.all(FEATURES.map(({ load }) => load()));
}
