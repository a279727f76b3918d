import { DurableObject } from "cloudflare:workers";
import type { Operation } from "../platform/db/client.ts";
import { objectOf } from "../platform/objects.ts";
import type { ConversationQuery, SearchIndex, SearchResult } from "./search-index.ts";

/**
 * The full-text search of one workspace's conversations. D1 holds the conversations themselves. Each search first reads what has
 * changed in D1 since the last search. So results are current, questions cost nothing extra, and a new or lost index rebuilds itself.
 */
export class ConversationIndex extends DurableObject<Env> {
  /** Imported with the first object, so that the start of an isolate evaluates no more than this class. */
  private index!: SearchIndex;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    // Calls wait until the import has finished.
    void ctx.blockConcurrencyWhile(async () => {
      const { SearchIndex } = await import("./search-index.ts");
      this.index = new SearchIndex(ctx.storage, env, ctx.id.name!);
    });
  }

  /** Finds conversations by last activity, newest first. */
  async search(query: ConversationQuery): Promise<SearchResult> {
    return this.index.search(query);
  }

  /** Removes conversations that are being erased, and keeps a running read from adding them again. */
  async remove(conversationIds: readonly string[]): Promise<void> {
    this.index.remove(conversationIds);
  }

  /** Removes everything, when the workspace is erased. */
  async erase(): Promise<void> {
    await this.index.erase();
  }

  override async alarm(): Promise<void> {
    await this.index.alarm();
  }
}

/** The object that indexes the conversations of a workspace. */
export function conversationIndexOf({ env, meter, workspaceId }: Operation): DurableObjectStub<ConversationIndex> {
  meter.countObjectHop();
  return objectOf(env, env.CONVERSATIONS, workspaceId);
}
