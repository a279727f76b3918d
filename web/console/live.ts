import { effect, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { type Change, CHANGE_KINDS, POLICY_VIOLATION, SESSION_ENDED } from "../../src/events/live-protocol.ts";
import { api } from "./api.ts";
import { endSession, hasEnded, session } from "./session.ts";

export interface Viewer {
  id: string;
  name: string;
  is_replying: boolean;
}

/** Whether the service pushes changes. If not, pages poll every half minute. */
export const isLive = signal(false);
/** The other users who have the open conversation open. */
export const viewers = signal<{ conversationId: string; all: Viewer[] }>({ conversationId: "", all: [] });

const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;
const PING_MS = 30_000;

const listeners = new Set<(changes: Change[]) => void>();
let socket: WebSocket | undefined;
/** Whether the last ping was answered. */
let isAnswered = true;
let pauseMs = FIRST_PAUSE_MS;
let reconnect: ReturnType<typeof setTimeout> | undefined;
let presence = { conversation_id: null as string | null, is_replying: false };

/** Keeps a socket open while the user is signed in to a workspace. */
export function startLive(): void {
  effect(() => {
    const isWanted = session.value?.kind === "workspace" && !hasEnded.value;
    // The session may have moved to another workspace.
    close();
    if (isWanted) connect();
  });
  addEventListener("online", () => {
    pauseMs = FIRST_PAUSE_MS;
    if (!socket && session.peek()?.kind === "workspace") connect();
  });
  setInterval(checkAlive, PING_MS);
}

/** Replaces a socket that has not answered the last ping, for example after the computer slept or lost its network. */
function checkAlive(): void {
  if (socket?.readyState !== WebSocket.OPEN) return;
  if (isAnswered) {
    isAnswered = false;
    socket.send("ping");
  } else {
    close();
    connect();
  }
}

/** Reports which conversation is open here. */
export function showPresence(conversationId: string | null): void {
  presence = { conversation_id: conversationId, is_replying: false };
  if (conversationId !== viewers.peek().conversationId) viewers.value = { conversationId: conversationId ?? "", all: [] };
  sendPresence();
}

/** Reports whether a reply to a conversation is being written, unless another one is open by now. */
export function showReplying(conversationId: string, isReplying: boolean): void {
  if (presence.conversation_id !== conversationId) return;
  presence = { conversation_id: conversationId, is_replying: isReplying };
  sendPresence();
}

/** Returns a function that says whether a change concerns one of these records. */
export function concerns(kind: Change["kind"], ...ids: readonly string[]): (change: Change) => boolean {
  return (change) => change.kind === kind && (change.id === "*" || ids.includes(change.id));
}

/** Changes within this time lead to one call. */
const DEBOUNCE_MS = 150;
/** The least time between two calls, since a busy workspace changes all the time and each read counts toward its rate limit. */
const INTERVAL_MS = 1_000;

/** Calls `then` shortly after a change that matters to a page, at most once a second. */
export function useChanges(matters: (change: Change) => boolean, then: () => void, deps: readonly unknown[]): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let nextMs = 0;
    const listener = (changes: Change[]) => {
      if (timer !== undefined || !changes.some(matters)) return;
      const run = () => {
        timer = undefined;
        nextMs = performance.now() + INTERVAL_MS;
        then();
      };
      timer = setTimeout(run, Math.max(DEBOUNCE_MS, nextMs - performance.now()));
    };
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      clearTimeout(timer);
    };
  }, deps);
}

function connect(): void {
  if (socket) return;
  clearTimeout(reconnect);
  const opened = new WebSocket(`${location.origin.replace(/^http/, "ws")}/console/live`);
  socket = opened;
  isAnswered = true;
  opened.addEventListener("open", () => {
    isLive.value = true;
    pauseMs = FIRST_PAUSE_MS;
    sendPresence();
    // The service does not repeat changes from the time without a socket.
    notify(CHANGE_KINDS.map((kind) => ({ kind, id: "*" })));
  });
  opened.addEventListener("message", ({ data }) => {
    isAnswered = true;
    if (data !== "pong") receive(JSON.parse(String(data)) as Message);
  });
  opened.addEventListener("close", ({ code, reason }) => {
    if (socket !== opened) return;
    // The user learns that the session has ended before writing something that cannot be sent.
    if (code === POLICY_VIOLATION && reason === SESSION_ENDED) endSession();
    // The service has closed the socket for another reason. The key may no longer be valid.
    else if (code === POLICY_VIOLATION) void api.getMe().catch(() => undefined);
    socket = undefined;
    isLive.value = false;
    if (session.peek()?.kind !== "workspace" || hasEnded.peek()) return;
    reconnect = setTimeout(connect, pauseMs * (0.5 + Math.random() / 2));
    pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
  });
}

function close(): void {
  const closing = socket;
  socket = undefined;
  isLive.value = false;
  clearTimeout(reconnect);
  closing?.close();
}

interface Message {
  changes?: Change[];
  presence?: { conversation_id: string; viewers: Viewer[] };
}

function receive({ changes, presence: seen }: Message): void {
  if (changes) notify(changes);
  if (seen && seen.conversation_id === presence.conversation_id) {
    viewers.value = { conversationId: seen.conversation_id, all: seen.viewers };
  }
}

/** Has all that shows conversations read them again. */
export function reloadConversations(): void {
  notify([{ kind: "conversation", id: "*" }]);
}

function notify(changes: Change[]): void {
  for (const listener of listeners) listener(changes);
}

function sendPresence(): void {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(presence));
}
