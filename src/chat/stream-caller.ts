import { rotating } from "../config.ts";
import { mintToken } from "../widget/token.ts";
import type { Begun } from "./stream.ts";
import type { Reading } from "./stream-reader.ts";

/** The caller of a stream, in a form that can be passed to a Durable Object. */
export interface StreamCaller {
  /** For errors and the log. */
  requestId: string;
  lastEventId?: string | undefined;
  /** The visitor whose token `start` and `done` hold; their id is null where only the turn tells it. Nobody over the API. */
  visitor?: { agentId: string; visitorId: string | null; anonId: string } | undefined;
}

/** The reading of a stream for its caller. A visitor's first event also holds their token, with which they can resume the stream. */
export function readingOf(env: Env, { visitor, ...caller }: StreamCaller): Reading {
  if (!visitor) return caller;
  const { agentId, anonId } = visitor;
  const extra = async (begun: Begun) => {
    const named = { agentId, visitorId: visitor.visitorId ?? begun.visitorId! };
    return { visitor_token: await mintToken(named, rotating(env.KEY_SECRET)[0], Date.now()), anon_id: anonId };
  };
  return { ...caller, extra };
}
