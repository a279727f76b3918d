import { ChatSession as Session, Committer as Gatherer } from "../../src/index.ts";
import service from "../../src/index.ts";

export * from "../../src/index.ts";

/*
 * The service with databases whose commits take a given time and follow one another, as far as its conversations are concerned. Only
 * `npm run bench -- --commits` serves it.
 */

interface CommitTime {
  COMMIT_MS?: string;
}

/** The name of the object that lets one commit after the other pass. */
const SLOTS = "slots";

/** Bindings whose database lets each batch wait for the commits before it, and for its own. */
function withCommits(env: Env): Env {
  const { DB } = env;
  const commitMs = Number((env as CommitTime).COMMIT_MS ?? 0);
  const slots = env.COMMITTER.getByName(SLOTS) as unknown as { commitAfterOthers: (ms: number) => Promise<void> };
  const batch = async (statements: D1PreparedStatement[]) => {
    await slots.commitAfterOthers(commitMs);
    return DB.batch(statements);
  };
  return { ...env, DB: { prepare: (query: string) => DB.prepare(query), batch } as unknown as D1Database };
}

export class ChatSession extends Session {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, withCommits(env));
  }
}

export class Committer extends Gatherer {
  private last: Promise<unknown> = Promise.resolve();

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, withCommits(env));
  }

  /** Resolves after the commits before this one, and the time of this one. */
  async commitAfterOthers(ms: number): Promise<void> {
    await (this.last = this.last.then(() => scheduler.wait(ms)));
  }
}

export default service;
