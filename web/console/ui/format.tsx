import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { Schemas } from "../../../client/index.ts";
import { exactTime, relativeTime } from "../../shared/time.ts";

const TICK_MS = 30_000;
const now = signal(Date.now());
setInterval(() => (now.value = Date.now()), TICK_MS);

/** A time relative to now, with the exact time on hover. @param isPlanned whether it may be in the future. Otherwise such a time is now. */
export function Time({ at, isPlanned = false }: { at: string; isPlanned?: boolean }) {
  const atMs = Date.parse(at);
  return (
    <time dateTime={at} title={exactTime(atMs, "en")}>
      {relativeTime(atMs, isPlanned ? now.value : Math.max(now.value, atMs), "en")}
    </time>
  );
}

/** The text of a search result with its matches marked. */
export function Snippet({ parts }: { parts: readonly Schemas["ConversationMatch"]["snippet"][number][] }) {
  return <>{parts.map(({ text, is_match: isMatch }, at) => (isMatch ? <mark key={at}>{text}</mark> : text))}</>;
}

const numberFormat = new Intl.NumberFormat(navigator.language);
const percentFormat = new Intl.NumberFormat(navigator.language, { style: "percent", maximumFractionDigits: 0 });

/** Formats a number with the separators of the reader's language. */
export function formatNumber(value: number): string {
  return numberFormat.format(value);
}

/** Returns a number with its noun, such as "1 record" or "2 records". */
export function countOf(count: number, one: string, many = `${one}s`): string {
  return `${formatNumber(count)} ${count === 1 ? one : many}`;
}

export function formatPercent(share: number | null): string {
  return share === null ? "–" : percentFormat.format(share);
}

/** Formats a confidence with two digits. It is rounded down, so that a confidence below a threshold never looks as high as the threshold. */
export function formatConfidence(confidence: number): string {
  return (Math.floor(confidence * 100 + 1e-6) / 100).toFixed(2);
}

/** Turns a name of the API into words: `messages_per_conversation` becomes "Messages per conversation". */
export function labelOf(name: string): string {
  const words = name.replaceAll("_", " ").replace(/\b(?:mb|api|ai|csat)\b/g, (word) => word.toUpperCase());
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}

/** A card with one number, its name, and a note below. */
export function Figure({
  name,
  value,
  note,
  children,
}: {
  name: string;
  value: string;
  note?: ComponentChildren;
  children?: ComponentChildren;
}) {
  return (
    <div class="card">
      <h2 class="figure-name">{name}</h2>
      <p class="big-number">{value}</p>
      {children}
      {note && <p class="quiet">{note}</p>}
    </div>
  );
}

/** Names who did something: a member, an API key or the operator. */
export function actorText({ type, id, name }: { type: "member" | "key" | "operator"; id: string | null; name: string | null }): string {
  if (type === "operator") return "The operator";
  if (type === "key") return `Key “${name ?? id}”`;
  return name ?? "A former member";
}
