import { CONNECT_AGAIN, POLICY_VIOLATION } from "../events/live-protocol.ts";
import { inBackground } from "../platform/background.ts";
import type { ConversationStatus } from "../platform/db/columns.ts";
import { objectOf } from "../platform/objects.ts";

/** Who may follow a conversation: its visitor's open pages, and the integrator's requests that wait for a message. */
type Follower = "page" | "request";

/** How many sockets a conversation may have for each: a visitor's open tabs and devices. */
const MAX_SOCKETS = 8;
/** After this time a socket is closed. Its page then opens another one, so that its token, its origin and its agent are checked again. */
const MAX_OPEN_MS = 10 * 60_000;
/** The header in which the widget's route passes on when the visitor's token expires, in Unix milliseconds. */
export const EXPIRY_HEADER = "X-Expires-At";
const FOLLOWER_HEADER = "X-Follower";
/** A code of RFC 6455, section 7.4.1. */
const NORMAL_CLOSURE = 1000;

/**
 * The sockets through which a conversation's object notifies the visitor's open pages, and requests that wait, of changes, which they
 * then read. The sockets hibernate: they cost nothing while nothing happens.
 */
export class VisitorSockets {
  constructor(private readonly ctx: DurableObjectState) {}

  /** Opens a socket. The status is 429 if the conversation has too many of its kind. */
  accept({ headers }: Request): Response {
    const follower: Follower = headers.get(FOLLOWER_HEADER) === "request" ? "request" : "page";
    const open = this.ctx.getWebSockets(follower).filter((socket) => !closeExpired(socket));
    if (open.length >= MAX_SOCKETS) return new Response(null, { status: 429 });
    const [client, server] = Object.values(new WebSocketPair()) as [WebSocket, WebSocket];
    this.ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair("ping", "pong"));
    this.ctx.acceptWebSocket(server, [follower]);
    server.serializeAttachment(Math.min(Number(headers.get(EXPIRY_HEADER)), Date.now() + MAX_OPEN_MS));
    const protocol = headers.get("Sec-WebSocket-Protocol");
    return new Response(null, { status: 101, webSocket: client, headers: protocol ? { "Sec-WebSocket-Protocol": protocol } : {} });
  }

  /** Notifies each follower that the conversation changed. The sockets of a resolved conversation are closed, since nothing follows. */
  notify(conversationId: string, status: ConversationStatus): void {
    const news = JSON.stringify({ kind: "conversation", id: conversationId });
    for (const socket of this.ctx.getWebSockets()) {
      if (closeExpired(socket)) continue;
      attempt(() => socket.send(news));
      if (status === "resolved") close(socket, NORMAL_CLOSURE, "The conversation is resolved.");
    }
  }

  /** Closes all sockets, since the conversation is erased. */
  closeAll(): void {
    for (const socket of this.ctx.getWebSockets()) close(socket, NORMAL_CLOSURE, "The conversation has ended.");
  }

  /** Closes all sockets, since a token may have been ended. A page whose token is valid connects again. */
  reconnectAll(): void {
    for (const socket of this.ctx.getWebSockets()) close(socket, POLICY_VIOLATION, CONNECT_AGAIN);
  }

  /** Closes a socket whose page sent anything but "ping". */
  refuse(socket: WebSocket): void {
    close(socket, POLICY_VIOLATION, "Send nothing but ping.");
  }
}

/** Closes a socket that was open for too long. @returns whether it did. */
function closeExpired(socket: WebSocket): boolean {
  const isExpired = Date.now() >= (socket.deserializeAttachment() as number);
  if (isExpired) close(socket, POLICY_VIOLATION, CONNECT_AGAIN);
  return isExpired;
}

function close(socket: WebSocket, code: number, reason: string): void {
  attempt(() => socket.close(code, reason));
}

/** Acts on a socket, unless it is closing already. Its page then connects again, and reads what it missed. */
function attempt(act: () => void): void {
  try {
    act();
  } catch {
    // The socket is closing.
  }
}

interface ChangedConversation {
  id: string;
  workspaceId: string;
  status: ConversationStatus;
}

/**
 * Notifies the visitor's open pages, and requests that wait, of a committed change to the conversation. The caller does not wait for
 * it, because all of them also read the conversation from time to time.
 */
export function notifyVisitor(env: Env, { id, workspaceId, status }: ChangedConversation): void {
  inBackground(objectOf(env, env.SESSION, `${workspaceId}/${id}`).notifyVisitor(id, status), "visitor_not_notified");
}

/** Makes the visitor's open pages connect again, since their tokens may have been ended. A resolved conversation has no sockets. */
export function reconnectVisitor(env: Env, { id, workspaceId, status }: ChangedConversation): void {
  if (status === "resolved") return;
  inBackground(objectOf(env, env.SESSION, `${workspaceId}/${id}`).reconnectVisitor(), "visitor_not_reconnected");
}

/** Waits for changes of a conversation, until it is disposed of. */
export interface ConversationFollower extends Disposable {
  /** Settles at the next change, or after this time. */
  nextChange: (limitMs: number) => Promise<void>;
}

/**
 * Follows a conversation through a socket of its object, which may sleep meanwhile.
 * @returns undefined if too many requests follow it.
 */
export async function followConversation(session: Fetcher): Promise<ConversationFollower | undefined> {
  const headers = { Upgrade: "websocket", [FOLLOWER_HEADER]: "request", [EXPIRY_HEADER]: String(Date.now() + MAX_OPEN_MS) };
  const { webSocket: socket } = await session.fetch("http://session/", { headers });
  if (!socket) return undefined;
  const { promise: changed, resolve } = Promise.withResolvers<void>();
  socket.addEventListener("message", () => resolve());
  socket.addEventListener("close", () => resolve());
  socket.accept();
  return {
    nextChange: (limitMs) => Promise.race([changed, scheduler.wait(limitMs)]),
    [Symbol.dispose]: () => close(socket, NORMAL_CLOSURE, "The request has ended."),
  };
}
