/*
 * Unsent texts, stored in this browser by conversation, so that they survive a reload and the end of a session.
 */

const PREFIX = "console.draft/";
const MAX_AGE_MS = 30 * 24 * 60 * 60_000;

export interface Draft {
  text: string;
  isNote: boolean;
}

/** The texts that are being sent, by conversation. Each stays stored until it is sent, so that a reload in between does not lose it. */
const sending = new Map<string, string>();

/** Returns the stored text of a conversation, or an empty one if that text is being sent. */
export function readDraft(conversationId: string): Draft {
  try {
    const { text = "", isNote = false } = JSON.parse(localStorage.getItem(PREFIX + conversationId) ?? "{}") as Partial<Draft>;
    return { text: text === sending.get(conversationId) ? "" : text, isNote };
  } catch {
    return { text: "", isNote: false };
  }
}

export function keepDraft(conversationId: string, { text, isNote }: Draft): void {
  if (text === "") localStorage.removeItem(PREFIX + conversationId);
  else localStorage.setItem(PREFIX + conversationId, JSON.stringify({ text, isNote, at: Date.now() }));
}

export function hasDraft(conversationId: string): boolean {
  return readDraft(conversationId).text !== "";
}

export function beginSending(conversationId: string, text: string): void {
  sending.set(conversationId, text);
}

/** Forgets a text after the request that sent it, unless another text has been written or sent since then. */
export function endSending(conversationId: string, text: string): void {
  if (sending.get(conversationId) !== text) return;
  if (!hasDraft(conversationId)) localStorage.removeItem(PREFIX + conversationId);
  sending.delete(conversationId);
}

/** Deletes drafts that are older than a month. */
export function forgetOldDrafts(): void {
  for (const key of Object.keys(localStorage).filter((name) => name.startsWith(PREFIX))) {
    const { at } = JSON.parse(localStorage.getItem(key) ?? "{}") as { at?: number };
    if (Date.now() - (at ?? 0) > MAX_AGE_MS) localStorage.removeItem(key);
  }
}
