import { wakeUp } from "../wake-up.ts";

/** A wake-up: which source to look at. What there is to do stands in its row. */
export interface IngestionMessage {
  workspaceId: string;
  agentId: string;
  sourceId: string;
}

/** A source as a wake-up needs to know it. */
export interface Waking {
  id: string;
  workspaceId: string;
  agentId: string;
  type: "website" | "url" | "text";
}

/** Wakes sources up. Sites have a queue of their own: reading one takes long, and a text is read at once. */
export async function wakeSources(env: Env, sources: readonly Waking[], delaySeconds = 0): Promise<void> {
  const messagesOf = (isText: boolean): IngestionMessage[] =>
    sources
      .filter(({ type }) => (type === "text") === isText)
      .map(({ id, workspaceId, agentId }) => ({ workspaceId, agentId, sourceId: id }));
  await Promise.all([
    wakeUp(env.INGESTION_QUEUE, messagesOf(true), delaySeconds),
    wakeUp(env.CRAWL_QUEUE, messagesOf(false), delaySeconds),
  ]);
}

/** Wakes one source up. */
export function wakeSource(env: Env, source: Waking, delaySeconds = 0): Promise<void> {
  return wakeSources(env, [source], delaySeconds);
}
