import { wakeUp } from "../wake-up.ts";

/** A wake-up for one source. The source's row says what is to be done. */
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

/** Sends wake-ups for sources. Sites have a queue of their own: a crawl takes long, while a text is indexed at once. */
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

/** Sends a wake-up for one source. */
export function wakeSource(env: Env, source: Waking, delaySeconds = 0): Promise<void> {
  return wakeSources(env, [source], delaySeconds);
}
