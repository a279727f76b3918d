import { DurableObject, waitUntil } from "cloudflare:workers";
import { inBackground } from "../platform/background.ts";
import { objectOf } from "../platform/objects.ts";
import { MINUTE_MS } from "../platform/time.ts";
import { type Change, CONNECT_AGAIN, POLICY_VIOLATION, SESSION_ENDED } from "./live-protocol.ts";

/** An open page of the console. */
export interface Viewer {
  /** Identifies the page. A person may have several open. */
  id: string;
  /** The name of the person, which other viewers see. */
  name: string;
  /** The ids of the session, of the key and of the member, if there is one: the page's socket is closed with each of them. */
  closesWith: string[];
  /** The kinds of records that the key may read. */
  kinds: Change["kind"][];
  /** When the session ends, in Unix milliseconds. */
  expiresAtMs: number;
}

/** The conversation that a viewer has open, and whether a reply is being written. */
interface Presence {
  conversation_id: string | null;
  is_replying: boolean;
}

interface Attachment extends Viewer, Presence {
  /** How many messages the page has sent since `countedSinceMs`. */
  messageCount: number;
  countedSinceMs: number;
}

const MAX_VIEWERS = 200;
const MAX_MESSAGE_LENGTH = 200;
/** The messages of a page in a minute. Each one is passed on to all other viewers; somebody who leafs quickly sends fewer. */
const MAX_MESSAGES = 300;
const WINDOW_MS = 60_000;
/** How many of the other viewers of a conversation a page is told. */
const MAX_OTHERS = 20;
/** After this time a socket is closed. Its page opens another one, and its key is checked again, in case its revocation was missed. */
const MAX_OPEN_MS = 10 * MINUTE_MS;
/** Why a socket is closed: its page asks the user to sign in, or opens another socket with what the key may read now. */
const CLOSE_REASONS = { ended: SESSION_ENDED, changed: CONNECT_AGAIN };
type CloseReason = keyof typeof CLOSE_REASONS;

/**
 * One object per workspace. It notifies the open pages of the console of changed records, by kind and id, and of other viewers of the
 * same conversation. Its sockets hibernate, so open pages cost nothing while nothing changes.
 */
export class LiveChannel extends DurableObject<Env> {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair("ping", "pong"));
  }

  /** Opens the socket of the viewer in the header `X-Viewer`, which the console's route sets. */
  override fetch(request: Request): Response {
    if (this.ctx.getWebSockets().length >= MAX_VIEWERS) return new Response(null, { status: 503 });
    const viewer = JSON.parse(request.headers.get(VIEWER_HEADER)!) as Viewer;
    const [client, server] = Object.values(new WebSocketPair()) as [WebSocket, WebSocket];
    this.ctx.acceptWebSocket(server, viewer.closesWith);
    const expiresAtMs = Math.min(viewer.expiresAtMs, Date.now() + MAX_OPEN_MS);
    const counted = { messageCount: 0, countedSinceMs: Date.now() };
    server.serializeAttachment({ ...viewer, expiresAtMs, conversation_id: null, is_replying: false, ...counted } satisfies Attachment);
    return new Response(null, { status: 101, webSocket: client });
  }

  /** Notifies each open page of the changed records that its key may read. */
  publish(changes: readonly Change[]): void {
    for (const socket of this.ctx.getWebSockets()) {
      const { kinds } = socket.deserializeAttachment() as Attachment;
      const readable = changes.filter(({ kind }) => kinds.includes(kind));
      if (readable.length > 0) sendTo(socket, JSON.stringify({ changes: readable }));
    }
  }

  /** Closes the sockets of a session that ended, of a key that was revoked, or of a member who was changed or removed. */
  close(id: string, reason: CloseReason): void {
    for (const socket of this.ctx.getWebSockets(id)) socket.close(POLICY_VIOLATION, CLOSE_REASONS[reason]);
  }

  /** Receives that a viewer opens or leaves a conversation, or begins or stops writing a reply. */
  override webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): void {
    const presence = readPresence(message);
    if (!presence) return socket.close(POLICY_VIOLATION, "Not a message of this channel.");
    const before = socket.deserializeAttachment() as Attachment;
    if (!before.kinds.includes("conversation")) return;
    const isNewWindow = Date.now() >= before.countedSinceMs + WINDOW_MS;
    const counted = isNewWindow ? { messageCount: 1, countedSinceMs: Date.now() } : { messageCount: before.messageCount + 1 };
    if (counted.messageCount > MAX_MESSAGES) return socket.close(POLICY_VIOLATION, "Too many messages.");
    socket.serializeAttachment({ ...before, ...presence, ...counted } satisfies Attachment);
    this.publishPresence(before.conversation_id);
    if (presence.conversation_id !== before.conversation_id) this.publishPresence(presence.conversation_id);
  }

  override webSocketClose(socket: WebSocket): void {
    this.publishPresence((socket.deserializeAttachment() as Attachment).conversation_id, socket);
  }

  /** Sends each viewer of a conversation the list of the others, which is cut after `MAX_OTHERS`. */
  private publishPresence(conversationId: string | null, gone?: WebSocket): void {
    if (conversationId === null) return;
    const open = this.ctx.getWebSockets().flatMap((socket) => {
      const attachment = socket.deserializeAttachment() as Attachment;
      return socket !== gone && attachment.conversation_id === conversationId ? [{ socket, attachment }] : [];
    });
    for (const { socket } of open) {
      const others = open
        .filter((one) => one.socket !== socket)
        .slice(0, MAX_OTHERS)
        .map(({ attachment: { id, name, is_replying } }) => ({ id, name, is_replying }));
      sendTo(socket, JSON.stringify({ presence: { conversation_id: conversationId, viewers: others } }));
    }
  }
}

/** The header in which the console's route passes on the viewer. */
export const VIEWER_HEADER = "X-Viewer";

function sendTo(socket: WebSocket, text: string): void {
  const { expiresAtMs } = socket.deserializeAttachment() as Attachment;
  try {
    if (Date.now() >= expiresAtMs) socket.close(POLICY_VIOLATION, CLOSE_REASONS.changed);
    else socket.send(text);
  } catch {
    // The socket is closing. Its page connects again and reads everything.
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

/** The least time between two calls of an isolate that notify a workspace's pages, which read at most once a second. */
const INTERVAL_MS = 1_000;

/** When the pages of a workspace were last notified, and the changes since then. */
interface Gathering {
  notifiedAtMs: number;
  changes: Change[];
}

/** By workspace, in the order of the last notification. */
const gatherings = new Map<string, Gathering>();

/**
 * Notifies the workspace's open pages of committed changes, at once or together with others after a second. Nothing waits for it, and
 * pages also read without it from time to time.
 */
export function announce(env: Env, workspaceId: string, ...changes: Change[]): void {
  if (changes.length === 0) return;
  const { notifiedAtMs, changes: gathered } = gatherings.get(workspaceId) ?? { notifiedAtMs: Number.NEGATIVE_INFINITY, changes: [] };
  const elapsedMs = Math.abs(Date.now() - notifiedAtMs);
  const isFirst = gathered.length === 0;
  gathered.push(...changes);
  // The request that gathers notifies after the interval. If that takes twice as long, it was cut off.
  if (elapsedMs >= (isFirst ? INTERVAL_MS : 2 * INTERVAL_MS)) notifyPages(env, workspaceId, gathered);
  else if (isFirst) waitUntil(scheduler.wait(INTERVAL_MS - elapsedMs).then(() => notifyPages(env, workspaceId, gathered)));
}

function notifyPages(env: Env, workspaceId: string, changes: Change[]): void {
  const nowMs = Date.now();
  const ofRecords = new Map(changes.splice(0).map((change) => [`${change.kind} ${change.id}`, change]));
  if (ofRecords.size === 0) return;
  gatherings.delete(workspaceId);
  for (const [id, { notifiedAtMs }] of gatherings) {
    if (nowMs - notifiedAtMs < 2 * INTERVAL_MS) break;
    gatherings.delete(id);
  }
  gatherings.set(workspaceId, { notifiedAtMs: nowMs, changes });
  inBackground(liveChannelOf(env, workspaceId).publish([...ofRecords.values()]), "change_not_announced");
}

/** Closes the live channel of a session, key or member, see `close`. Nothing waits for it. */
export function closeLive(env: Env, workspaceId: string, id: string, reason: CloseReason = "ended"): void {
  inBackground(liveChannelOf(env, workspaceId).close(id, reason), "live_not_closed");
}

export function liveChannelOf(env: Env, workspaceId: string): DurableObjectStub<LiveChannel> {
  return objectOf(env, env.LIVE, workspaceId);
}
