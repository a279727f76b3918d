import { DurableObject } from "cloudflare:workers";
import type { Operation } from "../platform/db/client.ts";
import { objectOf } from "../platform/objects.ts";
import type { ConversationQuery, SearchIndex, SearchResult } from "./search-index.ts";

/**
 * The full-text search of one workspace's conversations. D1 holds them. Each search first reads what has changed since the last one, so
 * that results are current, questions cost nothing extra, and an index that is new or was lost builds itself.
 */
export class ConversationIndex extends DurableObject<Env> {
  /** Loaded with the first object: a start of an isolate loads no more than this class. */
  private index!: SearchIndex;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    // Calls wait until it is done.
    void ctx.blockConcurrencyWhile(async () => {
      const { SearchIndex } = await import("./search-index.ts");
      this.index = new SearchIndex(ctx.storage, env, ctx.id.name!);
    });
  }

  /** Finds conversations by last activity, newest first. */
  async search(query: ConversationQuery): Promise<SearchResult> {
    return this.index.search(query);
  }

  /** Removes conversations that are being erased, and keeps those that are being read from coming back. */
  async remove(conversationIds: readonly string[]): Promise<void> {
    this.index.remove(conversationIds);
  }

  /** Removes everything, with its workspace. */
  async erase(): Promise<void> {
    await this.index.erase();
  }

  override async alarm(): Promise<void> {
    await this.index.alarm();
  }
}

/** The object that searches a workspace's conversations. */
export function conversationIndexOf({ env, meter, workspaceId }: Operation): DurableObjectStub<ConversationIndex> {
  meter.countObjectHop();
  return objectOf(env, env.CONVERSATIONS, workspaceId);
}
