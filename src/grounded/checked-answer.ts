import type { Evidence, Support } from "./evidence.ts";
import type { ReplyPart } from "./reply-parts.ts";
import { claimOf, isNeutral, knownWords } from "./support.ts";
import { REMOVED_LINK, type VisibleText } from "./visible-text.ts";

/** Matches a preamble such as "According to the passages,". It is left out, since the visitor sees no passages. */
const PREAMBLE =
  /^(?:according to|based on|as (?:stated|mentioned|described|noted|per|explained) in|per|from|in) (?:(?:the|our|this|these|your|provided|given|quoted|above|following|relevant|available)\s)*(?:passages?|sources?|documents?|context|results?|information|excerpts?|quotations?)(?:\s*\(?(?:[pt]\d+(?:\s*(?:,|&|and)\s*)?)+\)?)?(?:\s(?:provided|above|given|i have|available))*\s*,?\s*/i;
const PREAMBLE_CLAUSE =
  /^the (?:(?:provided|given|quoted|above|relevant) )*(?:passages?|sources?|context|results?)(?:\s*\(?(?:[pt]\d+(?:\s*(?:,|&|and)\s*)?)+\)?)? (?:says?|states?|mentions?|indicates?|explains?|shows?)(?: that)?,?\s*/i;
/** Matches a sentence with which a model says that it does not know the answer. */
const DECLINES =
  /\b(?:(?:do|does|did|have|has)(?: not|n[’']t) (?:have|contain|mention|provide|include|specify|say|state|know|cover|hold|been given)|(?:is|are|was|were)(?: not|n[’']t) (?:mentioned|provided|included|specified|stated|covered|sure|able)|no (?:\w+ )?(?:information|mention|details?|answer)|(?:cannot|can[’']t|could not|couldn[’']t|unable to) (?:find|answer|provide|determine|help|say|assist)|not sure)\b/i;
/** A bare yes or no cannot be checked, and is left out. */
const BARE_ANSWER = /^(?:yes|no(?! problem| worries)|yep|yeah|nope|correct|definitely|ja|nein|oui|non|s[ií])\b/i;
/** Matches the end of a lead-in or a question, which is no answer by itself and is shown with what follows. */
const LEADS_ON = /[:?][*_]*$/;
const IDS = /[pt]\d+/gi;
const ITEM_MARK = /^(?:[-*+•–]|\(?\d{1,3}[.)])\s+/;

interface AnswerOptions {
  evidence: Evidence;
  /** The ids that the reply names for the whole answer. */
  cited: readonly string[];
  /** Whether every sentence is shown, since the reply named its sources before it began. */
  isTrusted: boolean;
  /** Returns the text of a part as the visitor sees it, with the ids that it cites. */
  toVisible: (text: string) => VisibleText;
}

/**
 * The answer in a reply, read part by part. Each sentence is checked against the evidence. It is shown if something supports it, which
 * the answer then cites, and left out otherwise. Polite phrases, headings and lead-ins are shown together with a supported part.
 */
export class CheckedAnswer {
  /** The ids of the evidence that the answer cites. */
  readonly ids: Set<string>;
  /** Whether any text is shown. */
  isBegun = false;
  /** Whether the reply says that it does not know the answer, before any supported sentence. */
  declines = false;
  private readonly options: AnswerOptions;
  private readonly known: ReadonlySet<string>;
  /** Polite phrases, headings and lead-ins that wait for a supported part. */
  private held = "";
  /** The white space before the next part. */
  private space = "";
  private isInTable = false;
  private facts = 0;
  private supports: number[] = [];

  constructor(options: AnswerOptions) {
    this.options = options;
    this.ids = new Set(options.isTrusted ? options.cited : []);
    this.known = knownWords(options.evidence.question);
  }

  /** How well the evidence supports the reply so far, 0..1: the mean over its sentences, where one that was left out counts 0. */
  get support(): number {
    return this.options.isTrusted ? 1 : this.supports.reduce((sum, support) => sum + support, 0) / Math.max(1, this.facts);
  }

  /** The text of a reply that states no facts, if the visitor's message asks for none; otherwise undefined. */
  get smallTalk(): string | undefined {
    const statesNothing = this.facts === 0 && !this.declines && this.held.trim() !== "";
    return statesNothing && isNeutral(this.options.evidence.question) ? this.held.trim() : undefined;
  }

  /** Reads the next part. @returns the text that can be shown now. */
  read(part: ReplyPart): string {
    const { text, ids } = this.options.isTrusted ? { text: part.text, ids: [] } : withoutPreamble(part);
    const visible = this.options.toVisible(text);
    const cited = [...ids, ...visible.ids];
    this.space = strongerSpace(this.space, part.space);
    if (this.options.isTrusted || (visible.text === "" && this.isBegun)) this.cite(cited);
    if (visible.text === "") return "";
    return this.options.isTrusted ? this.show(visible.text) : this.check(part.kind, visible.text, cited);
  }

  /** Returns the polite end of an answer. A heading or a lead-in with nothing after it is left out. */
  end(): string {
    const isPolite = isNeutral(this.held) && !this.held.trimEnd().endsWith(":") && !/^\s*(?:#|\*\*|\|)/.test(this.held);
    return this.isBegun && isPolite ? this.held : "";
  }

  /** Adds the ids of evidence that the answer rests on. */
  cite(ids: readonly string[]): void {
    for (const id of ids) if (this.options.evidence.has(id)) this.ids.add(id);
  }

  private check(kind: ReplyPart["kind"], text: string, cited: readonly string[]): string {
    const isTableHead = kind === "row" && !this.isInTable;
    this.isInTable = kind === "row" || kind === "rule";
    const leadsOn = kind === "heading" || LEADS_ON.test(text);
    const statesNothing = kind === "rule" || isTableHead || leadsOn || isNeutral(text);
    if (!statesNothing) return this.checkFact(text, cited);
    // A heading or a lead-in may still name a thing that neither the visitor nor the evidence has mentioned.
    if (leadsOn && !this.isKnown(text) && !this.supportOf(text, cited)) return "";
    if (!this.isBegun && DECLINES.test(text)) this.declines = true;
    else if (!BARE_ANSWER.test(text)) this.held += this.takeSpace() + text;
    return "";
  }

  private checkFact(text: string, cited: readonly string[]): string {
    const found = this.supportOf(text, cited);
    if (!found && !this.isBegun && DECLINES.test(text)) this.declines = true;
    else this.facts++;
    if (!found) return "";
    this.supports.push(found.support);
    this.cite(found.ids);
    return this.show(text);
  }

  private show(text: string): string {
    const shown = `${this.held}${this.takeSpace()}${text}`;
    this.held = "";
    this.isBegun = true;
    return shown;
  }

  private takeSpace(): string {
    const space = this.isBegun || this.held !== "" ? this.space : "";
    this.space = "";
    return space;
  }

  private supportOf(text: string, cited: readonly string[]): Support | undefined {
    if (text.includes(REMOVED_LINK)) return undefined;
    const { evidence, cited: citedByAll } = this.options;
    return evidence.supportOf(claimOf(text.replace(ITEM_MARK, "")), cited.length > 0 ? cited : citedByAll);
  }

  /** Whether each word of a text is a polite one, or one of the question or the evidence. */
  private isKnown(text: string): boolean {
    return isNeutral(text.replace(ITEM_MARK, ""), new Set([...this.known, ...this.options.evidence.terms()]));
  }
}

function withoutPreamble({ kind, text }: ReplyPart): { text: string; ids: string[] } {
  if (kind !== "sentence" && kind !== "item") return { text, ids: [] };
  const mark = ITEM_MARK.exec(text)?.[0] ?? "";
  const sentence = text.slice(mark.length);
  const preamble = PREAMBLE.exec(sentence)?.[0] ?? PREAMBLE_CLAUSE.exec(sentence)?.[0] ?? "";
  const rest = sentence.slice(preamble.length);
  if (preamble === "" || rest === "") return { text, ids: [] };
  const ids = (preamble.match(IDS) ?? []).map((id) => id.toLowerCase());
  return { text: mark + rest.charAt(0).toUpperCase() + rest.slice(1), ids };
}

/** Returns the one of two white spaces that has more line breaks: a part between them was left out. */
function strongerSpace(a: string, b: string): string {
  const breaks = (space: string) => space.split("\n").length;
  return breaks(a) > breaks(b) ? a : b;
}
