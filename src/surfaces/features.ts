import type { Hono } from "hono";
import type { AppEnv } from "../platform/http/context.ts";

/** A part of the integrators' API, which is loaded with the first request for it. */
export interface Feature {
  /** Where its operations are: the segment after the version or, under an agent, `agents/` and the one after the agent's id. */
  at: readonly string[];
  load: () => Promise<Hono<AppEnv>>;
}

/** The features, in the order of the OpenAPI document. Where several are at one place, all of them are loaded. */
export const FEATURES: readonly Feature[] = [
  { at: ["me", "usage"], load: async () => (await import("../workspaces/routes.ts")).accountRoutes },
  { at: ["agents"], load: async () => (await import("../administration/agent-routes.ts")).agentRoutes },
  { at: ["agents/tools"], load: async () => (await import("../administration/tool-routes.ts")).toolRoutes },
  { at: ["keys"], load: async () => (await import("../administration/key-routes.ts")).keyRoutes },
  { at: ["agents/messages", "conversations"], load: async () => (await import("../chat/routes.ts")).chatRoutes },
  { at: ["openai"], load: async () => (await import("../chat/openai-routes.ts")).openAiRoutes },
  { at: ["conversations"], load: async () => (await import("../chat/start-routes.ts")).startRoutes },
  { at: ["conversations", "feedback"], load: async () => (await import("../conversations/routes.ts")).conversationRoutes },
  { at: ["leads"], load: async () => (await import("../leads/routes.ts")).leadRoutes },
  {
    at: ["agents/sources", "agents/answers", "agents/search"],
    load: async () => (await import("../knowledge/routes.ts")).knowledgeRoutes,
  },
  { at: ["agents/drafts"], load: async () => (await import("../knowledge/draft-routes.ts")).draftRoutes },
  { at: ["agents/evaluations"], load: async () => (await import("../evaluations/routes.ts")).evaluationRoutes },
  { at: ["agents/gaps", "analytics"], load: async () => (await import("../analytics/routes.ts")).analyticsRoutes },
  { at: ["privacy"], load: async () => (await import("../privacy/routes.ts")).privacyRoutes },
  { at: ["webhooks"], load: async () => (await import("../webhooks/routes.ts")).webhookRoutes },
  { at: ["webhooks"], load: async () => (await import("../webhooks/delivery-routes.ts")).deliveryRoutes },
  { at: ["events"], load: async () => (await import("../webhooks/event-routes.ts")).eventRoutes },
];

const PLACES: ReadonlySet<string> = new Set(FEATURES.flatMap(({ at }) => at));

/** The place of a path under /api/v1; that of the first feature where there is none. */
export function placeOf(path: string): string {
  const [, , , collection = "", , subcollection] = path.split("/", 6);
  const candidates = [`${collection}/${subcollection}`, collection];
  return candidates.find((place) => PLACES.has(place)) ?? FEATURES[0]!.at[0]!;
}
