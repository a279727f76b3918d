import { effect, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { request } from "./api.ts";
import { hasEnded, session } from "./session.ts";

export interface Change {
  kind: "conversation" | "evaluation" | "lead" | "source";
  id: string;
}

export interface Viewer {
  id: string;
  name: string;
  is_replying: boolean;
}

/** Whether changes arrive as they happen; without it pages read again every half minute. */
export const isLive = signal(false);
/** Who else has the open conversation open. */
export const viewers = signal<{ conversationId: string; all: Viewer[] }>({ conversationId: "", all: [] });

const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;
const PING_MS = 30_000;
/** The code by which the service closes the channel of a session that may have ended (RFC 6455, section 7.4.1). */
const POLICY_VIOLATION = 1008;

const listeners = new Set<(changes: Change[]) => void>();
let socket: WebSocket | undefined;
let pauseMs = FIRST_PAUSE_MS;
let reconnect: ReturnType<typeof setTimeout> | undefined;
let presence = { conversation_id: null as string | null, is_replying: false };

/** Keeps the channel open while somebody is signed in to a workspace. */
export function startLive(): void {
  effect(() => {
    const isWanted = session.value?.kind === "workspace" && !hasEnded.value;
    if (isWanted) connect();
    else close();
  });
  addEventListener("online", () => {
    pauseMs = FIRST_PAUSE_MS;
    if (!socket && session.peek()?.kind === "workspace") connect();
  });
  setInterval(() => socket?.readyState === WebSocket.OPEN && socket.send("ping"), PING_MS);
}

/** Says which conversation is open here, and whether a reply is being written. */
export function showPresence(conversationId: string | null, isReplying: boolean): void {
  presence = { conversation_id: conversationId, is_replying: isReplying };
  if (conversationId !== viewers.peek().conversationId) viewers.value = { conversationId: conversationId ?? "", all: [] };
  sendPresence();
}

/** Changes that come together are one. */
const GATHER_MS = 150;
/** In a busy workspace something changes all the time, and every read counts toward its rate limit. */
const PACE_MS = 1_000;

/** Calls back soon after something changed that matters to a page, and once a second while changes go on. */
export function useChanges(matters: (change: Change) => boolean, then: () => void, deps: readonly unknown[]): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let nextMs = 0;
    const listener = (changes: Change[]) => {
      if (timer !== undefined || !changes.some(matters)) return;
      const run = () => {
        timer = undefined;
        nextMs = performance.now() + PACE_MS;
        then();
      };
      timer = setTimeout(run, Math.max(GATHER_MS, nextMs - performance.now()));
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
  opened.addEventListener("open", () => {
    const isAgain = pauseMs !== FIRST_PAUSE_MS || !isLive.peek();
    isLive.value = true;
    pauseMs = FIRST_PAUSE_MS;
    sendPresence();
    // What changed while it was closed is not told again.
    if (isAgain) tell(["conversation", "evaluation", "lead", "source"].map((kind) => ({ kind: kind as Change["kind"], id: "*" })));
  });
  opened.addEventListener("message", ({ data }) => {
    if (data !== "pong") receive(JSON.parse(String(data)) as Message);
  });
  opened.addEventListener("close", ({ code }) => {
    if (socket !== opened) return;
    // What says that the session has ended, before somebody writes in vain.
    if (code === POLICY_VIOLATION) void request("GET", "/api/v1/me").catch(() => undefined);
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
  if (changes) tell(changes);
  if (seen && seen.conversation_id === presence.conversation_id) {
    viewers.value = { conversationId: seen.conversation_id, all: seen.viewers };
  }
}

function tell(changes: Change[]): void {
  for (const listener of listeners) listener(changes);
}

function sendPresence(): void {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(presence));
}
