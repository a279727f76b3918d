import type { Meter } from "../meter.ts";
import type { ChatSession } from "./session.ts";

/**
 * The object that puts a conversation's turns in order. Its name begins with the workspace, so a conversation of another
 * workspace is another object, and an empty one.
 */
export function sessionOf(env: Env, meter: Meter, workspaceId: string, conversationId: string): DurableObjectStub<ChatSession> {
  meter.hop();
  return env.SESSION.getByName(`${workspaceId}/${conversationId}`);
}
