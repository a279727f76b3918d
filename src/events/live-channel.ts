import { DurableObject, waitUntil } from "cloudflare:workers";
import { objectOf } from "../platform/objects.ts";
import { logRarely } from "../platform/telemetry/log.ts";

/** A record that was created or changed. Pages that show it read it again, with what their key may read. */
export interface Change {
  kind: "conversation" | "lead" | "source";
  id: string;
}

/** Who looks at a page of the console, as the workspace's others see it. */
export interface Viewer {
  /** Of this page, not of the person, who may have opened several. */
  id: string;
  name: string;
  /** Unix milliseconds, when the session ends. */
  expiresAtMs: number;
}

/** The conversation that a viewer has open, and whether a reply is being written. */
interface Presence {
  conversation_id: string | null;
  is_replying: boolean;
}

type Attachment = Viewer & Presence;

const MAX_VIEWERS = 200;
const MAX_MESSAGE_LENGTH = 200;
/** The code of a socket that the server closes because it may not stay open (RFC 6455, section 7.4.1). */
const POLICY_VIOLATION = 1008;

/**
 * One object per workspace: it tells the open pages of the console what changed, by kind and id, and who else has the same
 * conversation open. Its sockets hibernate, so open pages cost nothing while nothing changes.
 */
export class LiveChannel extends DurableObject<Env> {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair("ping", "pong"));
  }

  /** Opens a viewer's socket; the viewer stands in the header, which the entrance writes. */
  override fetch(request: Request): Response {
    if (this.ctx.getWebSockets().length >= MAX_VIEWERS) return new Response(null, { status: 503 });
    const viewer = JSON.parse(request.headers.get(VIEWER_HEADER)!) as Viewer;
    const [client, server] = Object.values(new WebSocketPair()) as [WebSocket, WebSocket];
    this.ctx.acceptWebSocket(server);
    server.serializeAttachment({ ...viewer, conversation_id: null, is_replying: false } satisfies Attachment);
    return new Response(null, { status: 101, webSocket: client });
  }

  /** Tells every open page what changed. */
  publish(changes: readonly Change[]): void {
    this.send(JSON.stringify({ changes }));
  }

  /** A viewer opens or leaves a conversation, or begins or stops to write a reply. */
  override webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): void {
    const presence = readPresence(message);
    if (!presence) return socket.close(POLICY_VIOLATION, "Not a message of this channel.");
    const before = socket.deserializeAttachment() as Attachment;
    socket.serializeAttachment({ ...before, ...presence } satisfies Attachment);
    this.publishPresence(before.conversation_id);
    if (presence.conversation_id !== before.conversation_id) this.publishPresence(presence.conversation_id);
  }

  override webSocketClose(socket: WebSocket): void {
    this.publishPresence((socket.deserializeAttachment() as Attachment).conversation_id, socket);
  }

  /** Tells each who has the conversation open who else has. */
  private publishPresence(conversationId: string | null, gone?: WebSocket): void {
    if (conversationId === null) return;
    const open = this.ctx.getWebSockets().flatMap((socket) => {
      const attachment = socket.deserializeAttachment() as Attachment;
      return socket !== gone && attachment.conversation_id === conversationId ? [{ socket, attachment }] : [];
    });
    for (const { socket } of open) {
      const others = open
        .filter((one) => one.socket !== socket)
        .map(({ attachment: { id, name, is_replying } }) => ({ id, name, is_replying }));
      sendTo(socket, JSON.stringify({ presence: { conversation_id: conversationId, viewers: others } }));
    }
  }

  private send(text: string): void {
    for (const socket of this.ctx.getWebSockets()) sendTo(socket, text);
  }
}

/** The header by which the entrance tells the channel who connects. */
export const VIEWER_HEADER = "X-Viewer";

function sendTo(socket: WebSocket, text: string): void {
  const { expiresAtMs } = socket.deserializeAttachment() as Attachment;
  try {
    if (Date.now() >= expiresAtMs) socket.close(POLICY_VIOLATION, "The session has ended.");
    else socket.send(text);
  } catch {
    // It is closing: its page reconnects, and reads everything anew.
  }
}

function readPresence(message: string | ArrayBuffer): Presence | undefined {
  if (typeof message !== "string" || message.length > MAX_MESSAGE_LENGTH) return undefined;
  try {
    const { conversation_id: id, is_replying: isReplying } = JSON.parse(message) as Partial<Presence>;
    const isValid = (id === null || typeof id === "string") && typeof isReplying === "boolean";
    return isValid ? { conversation_id: id, is_replying: isReplying } : undefined;
  } catch {
    return undefined;
  }
}

/** Tells the workspace's open pages what changed, once that is committed. Nothing waits for it, and a page reads again without it. */
export function announce(env: Env, workspaceId: string, ...changes: Change[]): void {
  if (changes.length === 0) return;
  const published = liveChannelOf(env, workspaceId).publish(changes);
  waitUntil(Promise.resolve(published).catch((error: unknown) => logRarely("change_not_announced", {}, error)));
}

/** The live channel of a workspace. */
export function liveChannelOf(env: Env, workspaceId: string): DurableObjectStub<LiveChannel> {
  return objectOf(env, env.LIVE, workspaceId);
}
