import type { RE2JS } from "re2js";
import type { RedactionPattern, RedactionSettings } from "../platform/db/columns.ts";
import { compilePattern } from "../platform/linear-pattern.ts";
import { LruCache } from "../platform/lru-cache.ts";
import { findCards } from "./cards.ts";
import { findIbans } from "./ibans.ts";
import { type PlainText, toPlainText } from "./plain-text.ts";
import type { Span } from "./spans.ts";

/** The largest size of one compiled pattern, and of all patterns of a workspace together, in instructions. An order number has about 20. */
export const MAX_PATTERN_INSTRUCTIONS = 200;
export const MAX_ALL_INSTRUCTIONS = 500;
/**
 * The most steps that patterns take for the texts of one request, which take up to half a second. A search is linear, but a pattern that looks
 * far ahead for each of many matches is not.
 */
const MAX_STEPS = 10_000_000;

/** A text that would be more than twice as long, and these characters, is masked as a whole. */
const MAX_GROWTH = 200;

/** What was masked, by kind: `card`, `iban`, or the name of a pattern. */
export type RedactionCounts = Map<string, number>;

interface Redacted {
  text: string;
  counts: RedactionCounts;
}

interface NamedSpan extends Span {
  kind: string;
}

interface CompiledPattern {
  name: string;
  compiled: RE2JS;
}

/** The default: what a workspace has not switched on stays as it is. */
export const NO_REDACTION: RedactionSettings = { card: false, iban: false, patterns: [] };

/** Returns the mask of a kind. */
function maskOf(kind: string): string {
  return `[redacted: ${kind}]`;
}

/** Whether anything is masked. */
export function isRedacting({ card, iban, patterns }: RedactionSettings): boolean {
  return card || iban || patterns.length > 0;
}

/** Creates the redactor of a request, whose texts share the bound of the patterns' steps. A stored pattern that cannot be used any more is left out. */
export async function createRedactor(settings: RedactionSettings): Promise<Redactor> {
  return new Redactor(settings, await compiledPatterns(settings.patterns));
}

/** The compiled patterns of the latest workspaces. */
const compiledByPatterns = new LruCache<string, CompiledPattern[]>(200);

async function compiledPatterns(patterns: readonly RedactionPattern[]): Promise<CompiledPattern[]> {
  if (patterns.length === 0) return [];
  const key = JSON.stringify(patterns);
  const known = compiledByPatterns.get(key);
  if (known) return known;
  const usable: CompiledPattern[] = [];
  for (const { name, pattern } of patterns) {
    const compiled = await compilePattern(pattern, MAX_PATTERN_INSTRUCTIONS);
    if (compiled) usable.push({ name, compiled });
  }
  compiledByPatterns.set(key, usable);
  return usable;
}

/** Masks card numbers, IBANs and a workspace's own patterns in texts. */
export class Redactor {
  private stepsLeft = MAX_STEPS;

  constructor(
    private readonly settings: Pick<RedactionSettings, "card" | "iban">,
    private readonly patterns: readonly CompiledPattern[],
  ) {}

  /** Returns a redactor with the same settings and all of its steps. */
  renewed(): Redactor {
    return new Redactor(this.settings, this.patterns);
  }

  /** Masks a text. What overlaps is masked together, under the name of the part that begins first. */
  redact(original: string): Redacted {
    const plain = toPlainText(original);
    const spans = merged(this.find(plain.text));
    const counts: RedactionCounts = new Map();
    let text = "";
    let at = 0;
    for (const { kind, ...span } of spans) {
      const { start, end } = inOriginal(plain, span);
      text += original.slice(at, start) + maskOf(kind);
      at = end;
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
    }
    text += original.slice(at);
    // Masks are longer than what a careless pattern matches. Texts have bounds, and stay near them.
    const isTooLong = text.length > 2 * original.length + MAX_GROWTH;
    return { text: isTooLong ? maskOf(spans[0]!.kind) : text, counts };
  }

  private find(text: string): NamedSpan[] {
    const { card, iban } = this.settings;
    // Without them, parts of an IBAN would be taken for cards.
    const ibans = card || iban ? findIbans(text) : [];
    const cards = card ? findCards(text).filter((span) => !ibans.some((other) => overlaps(span, other))) : [];
    const found = [...(iban ? named("iban", ibans) : []), ...named("card", cards)];
    const masks = this.patterns.length > 0 ? this.masksIn(text) : [];
    for (const { name, compiled } of this.patterns) found.push(...named(name, this.matches(text, compiled, masks)));
    return found;
  }

  /** The masks that a text has already. Patterns must not match in them, since a text may be masked again. */
  private masksIn(text: string): Span[] {
    const kinds = ["card", "iban", ...this.patterns.map(({ name }) => name)];
    return kinds.flatMap((kind) => {
      const mask = maskOf(kind);
      const spans: Span[] = [];
      for (let at = text.indexOf(mask); at >= 0; at = text.indexOf(mask, at + 1)) spans.push({ start: at, end: at + mask.length });
      return spans;
    });
  }

  private matches(text: string, pattern: RE2JS, masks: readonly Span[]): Span[] {
    const spans: Span[] = [];
    const matcher = pattern.matcher(text);
    for (let at = 0; ; at = matcher.end()) {
      this.stepsLeft -= pattern.programSize() * (text.length - at + 1);
      // What cannot be searched is masked, so that nobody can hide a text behind many matches.
      if (this.stepsLeft < 0) return [...spans, { start: at, end: text.length }].filter(({ start, end }) => end > start);
      if (!matcher.find()) return spans;
      const span = { start: matcher.start(), end: matcher.end() };
      spans.push(...outside(span, masks));
    }
  }
}

function named(kind: string, spans: readonly Span[]): NamedSpan[] {
  return spans.map((span) => ({ ...span, kind }));
}

/** The parts of a span that are in no mask, and not empty. */
function outside(span: Span, masks: readonly Span[]): Span[] {
  let parts = span.end > span.start ? [span] : [];
  for (const mask of masks.filter((each) => overlaps(span, each))) {
    parts = parts.flatMap(({ start, end }) => [
      { start, end: Math.min(end, mask.start) },
      { start: Math.max(start, mask.end), end },
    ]);
    parts = parts.filter(({ start, end }) => end > start);
  }
  return parts;
}

function overlaps(one: Span, other: Span): boolean {
  return one.start < other.end && other.start < one.end;
}

/** Joins spans that overlap. */
function merged(spans: readonly NamedSpan[]): NamedSpan[] {
  const joined: NamedSpan[] = [];
  for (const span of [...spans].sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = joined.at(-1);
    if (last && span.start < last.end) last.end = Math.max(last.end, span.end);
    else joined.push({ ...span });
  }
  return joined;
}

function inOriginal({ startOf, endOf }: PlainText, { start, end }: Span): Span {
  return { start: startOf(start), end: endOf(end - 1) };
}
