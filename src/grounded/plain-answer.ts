import { type AnswerFilter, REMOVED_LINK } from "./answer-filter.ts";
import type { Evidence, Support } from "./evidence.ts";
import { parseHeader, type ReplyHeader } from "./header.ts";
import { type AnswerPart, SentenceBuffer } from "./sentence-buffer.ts";
import { claimOf, isNeutral, knownWords } from "./support.ts";

/** "According to the passages," is our own matter: the visitor sees no passages. */
const PREAMBLE =
  /^(?:according to|based on|as (?:stated|mentioned|described|noted|per|explained) in|per|from|in) (?:(?:the|our|this|these|your|provided|given|quoted|above|following|relevant|available)\s)*(?:passages?|sources?|documents?|context|results?|information|excerpts?|quotations?)(?:\s*\(?(?:[pt]\d+(?:\s*(?:,|&|and)\s*)?)+\)?)?(?:\s(?:provided|above|given|i have|available))*\s*,?\s*/i;
const PREAMBLE_CLAUSE =
  /^the (?:(?:provided|given|quoted|above|relevant) )*(?:passages?|sources?|context|results?)(?:\s*\(?(?:[pt]\d+(?:\s*(?:,|&|and)\s*)?)+\)?)? (?:says?|states?|mentions?|indicates?|explains?|shows?)(?: that)?,?\s*/i;
/** The model says that it does not know. */
const DECLINES =
  /\b(?:(?:do|does|did|have|has)(?: not|n[’']t) (?:have|contain|mention|provide|include|specify|say|state|know|cover|hold|been given)|(?:is|are|was|were)(?: not|n[’']t) (?:mentioned|provided|included|specified|stated|covered|sure|able)|no (?:\w+ )?(?:information|mention|details?|answer)|(?:cannot|can[’']t|could not|couldn[’']t|unable to) (?:find|answer|provide|determine|help|say|assist)|not sure)\b/i;
/** A bare yes or no is as good as what it rests on, which cannot be seen. */
const BARE_ANSWER = /^(?:yes|no(?! problem| worries)|yep|yeah|nope|correct|definitely|ja|nein|oui|non|s[ií])\b/i;
/** A lead-in or a question: it is shown with what follows it, and is no answer by itself. */
const LEADS_ON = /[:?][*_]*$/;
const IDS = /[pt]\d+/gi;
const ITEM_MARK = /^(?:[-*+•–]|\(?\d{1,3}[.)])\s+/;

interface PlainAnswerOptions {
  question: string;
  evidence: Evidence;
  /** The ids that the model cited for the whole answer. */
  cited: readonly string[];
  /** Filters one part of the answer. */
  newFilter: () => AnswerFilter;
}

/**
 * An answer without a header: each of its sentences is checked against what the model was given, and shown with the citations of
 * what supports it. What nothing supports is left out; politeness, headings and lead-ins are shown with what follows them.
 */
export class PlainAnswer {
  /** The ids of what supports the answer. */
  readonly ids = new Set<string>();
  /** A header that stands within the text, as far as it was read. */
  readonly headers: ReplyHeader[] = [];
  /** Whether the model said that it does not know before it said anything that is supported. */
  declines = false;
  private readonly parts: SentenceBuffer;
  private readonly known: Set<string>;
  /** Neutral parts that wait for a supported one. */
  private held = "";
  private space = "";
  private hasShown = false;
  private isInTable = false;
  private facts = 0;
  private supports: number[] = [];

  private readonly question: string;
  private readonly evidence: Evidence;
  private readonly newFilter: () => AnswerFilter;
  private readonly cited: readonly string[];

  constructor({ question, evidence, cited, newFilter }: PlainAnswerOptions) {
    this.question = question;
    this.evidence = evidence;
    this.cited = cited;
    this.newFilter = newFilter;
    this.parts = new SentenceBuffer((text) => {
      const filter = newFilter();
      return (filter.push(text) + filter.end()).trim() === "";
    });
    this.known = knownWords(question);
  }

  /** Whether a supported sentence was read: the answer can be shown from there on. */
  get isGrounded(): boolean {
    return this.supports.length > 0;
  }

  /** How well what was read so far is supported, 0..1: the mean of what is shown, less by the share that was left out. */
  get support(): number {
    return this.supports.reduce((sum, support) => sum + support, 0) / Math.max(1, this.facts);
  }

  /** @returns what can be shown by now. */
  push(text: string): string {
    return this.parts
      .push(text)
      .map((part) => this.read(part))
      .join("");
  }

  /** @returns what was still held back and may be shown. */
  end(): string {
    const rest = this.parts
      .end()
      .map((part) => this.read(part))
      .join("");
    return this.isGrounded ? rest + this.politeEnd() : rest;
  }

  /** The text of a reply that states no facts at all; undefined where it states any. */
  get smallTalk(): string | undefined {
    return this.facts === 0 && !this.declines && isNeutral(this.question) ? this.held.trim() : undefined;
  }

  private read(part: AnswerPart): string {
    if (this.readHeader(part.text)) return "";
    const filter = this.newFilter();
    const { text, ids: idsOfPreamble } = withoutPreamble(part);
    const visible = filter.push(text) + filter.end();
    const ids = [...idsOfPreamble, ...filter.citedIds];
    this.space = strongerSpace(this.space, part.space);
    if (visible === "") {
      if (this.isGrounded) for (const id of ids) if (this.evidence.has(id)) this.ids.add(id);
      return "";
    }
    const isHead = part.kind === "row" && !this.isInTable;
    this.isInTable = part.kind === "row" || part.kind === "rule";
    const leadsOn = part.kind === "heading" || LEADS_ON.test(visible);
    if (leadsOn && !this.isKnown(visible) && !this.supportOf(visible, ids)) return "";
    if (part.kind === "rule" || isHead || leadsOn || isNeutral(visible)) {
      if (!this.isGrounded && DECLINES.test(visible)) this.declines = true;
      else if (!BARE_ANSWER.test(visible)) this.held += this.takeSpace() + visible;
      return "";
    }
    return this.readFact(visible, ids);
  }

  /** A later header, as models write one after a tool call, or "Sources: p1" at the end. */
  private readHeader(text: string): boolean {
    const found = parseHeader(text);
    if (!found) return false;
    this.headers.push(found.header);
    return found.rest === "" || found.header.kind !== "sources";
  }

  private readFact(text: string, ids: readonly string[]): string {
    const found = this.supportOf(text, ids);
    if (!found) {
      if (!this.isGrounded && DECLINES.test(text)) this.declines = true;
      else this.facts++;
      return "";
    }
    this.facts++;
    this.supports.push(found.support);
    for (const id of found.ids) this.ids.add(id);
    const shown = `${this.held}${this.takeSpace()}${text}`;
    this.held = "";
    this.hasShown = true;
    return shown;
  }

  private takeSpace(): string {
    const space = this.hasShown || this.held !== "" ? this.space || " " : "";
    this.space = "";
    return space;
  }

  private supportOf(text: string, ids: readonly string[]): Support | undefined {
    if (text.includes(REMOVED_LINK)) return undefined;
    return this.evidence.supportOf(claimOf(text.replace(ITEM_MARK, "")), ids.length > 0 ? ids : this.cited, this.question);
  }

  /** Whether it says nothing but in words of the question and the evidence. */
  private isKnown(text: string): boolean {
    return isNeutral(text.replace(ITEM_MARK, ""), new Set([...this.known, ...this.evidence.terms(this.question)]));
  }

  /** A heading or a lead-in with nothing after it is left out, an offer to help more is not. */
  private politeEnd(): string {
    return isNeutral(this.held) && !this.held.trimEnd().endsWith(":") && !/^\s*(?:#|\*\*|\|)/.test(this.held) ? this.held : "";
  }
}

function withoutPreamble({ kind, text }: AnswerPart): { text: string; ids: string[] } {
  if (kind !== "sentence" && kind !== "item") return { text, ids: [] };
  const mark = ITEM_MARK.exec(text)?.[0] ?? "";
  const sentence = text.slice(mark.length);
  const preamble = PREAMBLE.exec(sentence)?.[0] ?? PREAMBLE_CLAUSE.exec(sentence)?.[0] ?? "";
  const rest = sentence.slice(preamble.length);
  if (preamble === "" || rest === "") return { text, ids: [] };
  const ids = (preamble.match(IDS) ?? []).map((id) => id.toLowerCase());
  return { text: mark + rest.charAt(0).toUpperCase() + rest.slice(1), ids };
}

/** Of the white space around a part that was left out, the one that separates more is kept. */
function strongerSpace(a: string, b: string): string {
  const breaks = (space: string) => space.split("\n").length;
  return breaks(a) > breaks(b) ? a : b;
}
