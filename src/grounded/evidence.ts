import { draftAnswer } from "../extractive/engine.ts";
import { PASSAGE_TOKENS, TOOL_RESULT_TOKENS } from "../models/limits.ts";
import { estimateTokens, truncateToTokens } from "./prompt.ts";
import type { Passage, Retrieval } from "../models/retrieval.ts";
import { type Claim, SupportingText } from "./support.ts";

interface Search {
  question: string;
  retrieval: Retrieval;
}

interface CitablePassage {
  passage: Passage;
  searches: Search[];
}

export interface Grounding {
  cited: Passage[];
  /** The probability, 0..1, that an answer based on it is right. */
  confidence: number;
}

/** The evidence that says the same as a sentence of an answer. */
export interface Support {
  ids: string[];
  /** The share of the sentence's words that it has, 0..1. */
  support: number;
}

/** A tool's result is right; only the model's reading of it may be wrong. */
const TOOL_CONFIDENCE = 0.85;

/** Everything that a model was given in one turn, by the short ids in its prompt (p1, t1). Nothing else can be cited. */
export class Evidence {
  private readonly passages = new Map<string, CitablePassage>();
  private readonly results = new Map<string, string>();
  private readonly supporting = new Map<string, SupportingText>();

  constructor(private readonly quoter: Quoter) {}

  /** Adds the passages of a search, best first, up to PASSAGE_TOKENS. Returns them as the model reads them. */
  addPassages(search: Search): string {
    let left = PASSAGE_TOKENS;
    const quoted: string[] = [];
    for (const passage of search.retrieval.passages) {
      const known = [...this.passages].find(([, added]) => isSame(added.passage, passage));
      const [id, added] = known ?? [`p${this.passages.size + 1}`, { passage, searches: [] }];
      const text = known ? "(given above)" : promptText(passage);
      left -= estimateTokens(text);
      if (left < 0) break;
      added.searches.push(search);
      this.passages.set(id, added);
      quoted.push(this.quoter.quote(`passage ${id}`, text));
    }
    return quoted.join("\n\n");
  }

  /** Adds a tool's result, truncated to TOOL_RESULT_TOKENS. Returns it as the model reads it. */
  addResult(text: string): string {
    const id = `t${this.results.size + 1}`;
    this.results.set(id, text);
    return this.quoter.quote(`result ${id}`, truncateToTokens(text, TOOL_RESULT_TOKENS));
  }

  /** Quotes the response of a failed tool. It gets no id, so that no answer can be based on it. */
  quoteFailure(text: string): string {
    return this.quoter.quote("failure", truncateToTokens(text, TOOL_RESULT_TOKENS));
  }

  has(id: string): boolean {
    return this.passages.has(id) || this.results.has(id);
  }

  /** The grounding of an answer that cites these ids; undefined where none of them is known. */
  groundingOf(ids: readonly string[]): Grounding | undefined {
    const found = [...new Set(ids)].flatMap((id) => this.passages.get(id) ?? []);
    const hasResult = ids.some((id) => this.results.has(id));
    if (found.length === 0 && !hasResult) return undefined;
    const cited = found.map(({ passage }) => passage);
    const searches = [...new Set(found.flatMap((one) => one.searches))];
    const confidences = searches.map((search) => passageConfidence(search, cited));
    return { cited, confidence: Math.max(...confidences, hasResult ? TOOL_CONFIDENCE : 0) };
  }

  /**
   * Finds the evidence that supports a claim: what the model cited for it, else the text that has most of it; undefined where none does.
   * @param cited the ids that the model wrote into the sentence.
   * @param question the visitor's message: a tool's result need not repeat what it says.
   */
  supportOf(claim: Claim, cited: readonly string[], question: string): Support | undefined {
    const own = [...new Set(cited)].map((id) => ({ ids: [id], support: this.supportingText(id, question)?.supportOf(claim, true) ?? 0 }));
    const supported = own.filter(({ support }) => support > 0);
    if (supported.length > 0)
      return { ids: supported.flatMap(({ ids }) => ids), support: Math.max(...supported.map((one) => one.support)) };
    const all = this.ids().map((id) => ({ ids: [id], support: this.supportingText(id, question)!.supportOf(claim, false) }));
    return all.filter(({ support }) => support > 0).toSorted((a, b) => b.support - a.support)[0];
  }

  /** The terms and numbers of all evidence. */
  terms(question: string): Set<string> {
    return new Set(this.ids().flatMap((id) => [...this.supportingText(id, question)!.terms]));
  }

  private ids(): string[] {
    return [...this.passages.keys(), ...this.results.keys()];
  }

  private supportingText(id: string, question: string): SupportingText | undefined {
    const passage = this.passages.get(id)?.passage;
    const result = this.results.get(id);
    if (!passage && result === undefined) return undefined;
    let text = this.supporting.get(id);
    text ??= passage
      ? new SupportingText(passage.content, `${passage.title}\n${passage.heading ?? ""}`)
      : new SupportingText(result!, "", question);
    this.supporting.set(id, text);
    return text;
  }

  /** The texts of all evidence, which an answer may repeat. */
  texts(): string[] {
    const passages = [...this.passages.values()].flatMap(({ passage }) => [passage.url ?? "", passage.content]);
    return [...passages, ...this.results.values()];
  }
}

function promptText({ title, heading, url, content }: Passage): string {
  const about = [`Title: ${title}`, ...(heading === null ? [] : [`Heading: ${heading}`]), ...(url === null ? [] : [`URL: ${url}`])];
  return `${about.join("\n")}\n\n${content}`;
}

function isSame(a: Passage, b: Passage): boolean {
  return a.sourceId === b.sourceId && a.heading === b.heading && a.content === b.content;
}

/** What the model's own citation adds to the lexical confidence, in log-odds: even odds become four in five. */
const CITATION_LOG_ODDS = 1.5;
/** A question and its answer may share no word, as in two languages: with the citation this makes about even odds. */
const MIN_LEXICAL_CONFIDENCE = 0.2;

/** The probability, 0..1, that an answer from the cited passages of a search is right. */
function passageConfidence({ question, retrieval }: Search, cited: readonly Passage[]): number {
  const passages = retrieval.passages.filter((passage) => cited.includes(passage));
  const lexical = Math.max(draftAnswer(question, { ...retrieval, passages }).confidence, MIN_LEXICAL_CONFIDENCE);
  return 1 / (1 + Math.exp(-(Math.log(lexical / (1 - lexical)) + CITATION_LOG_ODDS)));
}

/**
 * Marks text that others wrote as data. The mark is random for each turn, so that no text can contain it, and none can end
 * its own quotation or start another.
 */
export class Quoter {
  constructor(readonly mark: string = crypto.randomUUID()) {}

  /** @param label our own name of what is quoted, with its id. */
  quote(label: string, text: string): string {
    return `<<${label} ${this.mark}>>\n${text}\n<<end ${this.mark}>>`;
  }
}
