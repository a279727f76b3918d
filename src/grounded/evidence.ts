import { draftAnswer } from "../extractive/engine.ts";
import { ALL_PASSAGES_TOKENS, PASSAGE_TOKENS, TOOL_RESULT_TOKENS } from "../models/limits.ts";
import { answerPassage, type CitablePassage, type Retrieval } from "../models/retrieval.ts";
import { truncateBytes, utf8Length } from "../platform/text.ts";
import { type Claim, SupportingText } from "./support.ts";
import { quoteWith } from "./quotations.ts";

interface Search {
  question: string;
  retrieval: Retrieval;
}

interface FoundPassage {
  passage: CitablePassage;
  searches: Search[];
}

/** The evidence that says the same as a sentence of an answer. */
export interface Support {
  ids: string[];
  /** The share of the sentence's words that it has, 0..1. */
  support: number;
}

/** A curated answer is shown from this similarity of its question on. The model judges whether it answers the visitor's. */
const MIN_CURATED_SCORE = 0.5;
/** The curated answers of a search that are shown, so that they leave room for passages. */
const MAX_CURATED = 2;

const NO_ROOM = "Passages were found, but no more passages fit into this turn. Reply from those above, or @unknown.";

/** The confidence of an answer from a tool's result, which is right: only the model's reading of it may be wrong. */
const TOOL_CONFIDENCE = 0.85;

/**
 * Everything that a model was given in one turn, by the short ids in its prompt (p1 for a passage, t1 for a tool's result). Nothing
 * else can be cited.
 */
export class Evidence {
  /** The mark of the quotations in the prompt. */
  readonly mark = crypto.randomUUID();
  private readonly passages = new Map<string, FoundPassage>();
  private leftForPassages = ALL_PASSAGES_TOKENS;
  private readonly results = new Map<string, string>();
  private readonly supporting = new Map<string, SupportingText>();

  /** @param question the visitor's message. */
  constructor(readonly question: string) {}

  /** Marks a text that others wrote as data. @param label our own name for it, with its id. */
  quote(label: string, text: string): string {
    return quoteWith(this.mark, label, text);
  }

  /** Adds the curated answers and the passages of a search, best first, within the budgets. Returns them as the model reads them. */
  addPassages(search: Search): string {
    let left = Math.min(PASSAGE_TOKENS, this.leftForPassages);
    const quoted: string[] = [];
    const { curated, passages } = search.retrieval;
    const similar = curated.filter(({ score }) => score >= MIN_CURATED_SCORE).slice(0, MAX_CURATED);
    const found = [...similar.map(answerPassage), ...passages];
    for (const passage of found) {
      const known = [...this.passages].find(([, added]) => isSame(added.passage, passage));
      const [id, added] = known ?? [`p${this.passages.size + 1}`, { passage, searches: [] }];
      const text = known ? "(given above)" : promptText(passage);
      const tokens = estimateTokens(text);
      if (tokens > left) continue;
      left -= tokens;
      this.leftForPassages -= tokens;
      added.searches.push(search);
      this.passages.set(id, added);
      quoted.push(this.quote(`passage ${id}`, text));
    }
    if (quoted.length === 0 && found.length > 0) return NO_ROOM;
    return quoted.join("\n\n");
  }

  /** Adds a tool's result, truncated to TOOL_RESULT_TOKENS. Returns it as the model reads it. */
  addResult(text: string): string {
    const id = `t${this.results.size + 1}`;
    this.results.set(id, text);
    return this.quote(`result ${id}`, truncateToTokens(text, TOOL_RESULT_TOKENS));
  }

  /** Quotes the response of a failed tool. It gets no id, so that no answer can be based on it. */
  quoteFailure(text: string): string {
    return this.quote("failure", truncateToTokens(text, TOOL_RESULT_TOKENS));
  }

  has(id: string): boolean {
    return this.passages.has(id) || this.results.has(id);
  }

  /** Lists the passages with these ids. */
  passagesOf(ids: readonly string[]): CitablePassage[] {
    return [...new Set(ids)].flatMap((id) => this.passages.get(id)?.passage ?? []);
  }

  /** Computes the probability, 0..1, that an answer that cites these ids is right; undefined if none of them is known. */
  confidenceOf(ids: readonly string[]): number | undefined {
    if (!ids.some((id) => this.has(id))) return undefined;
    const cited = this.passagesOf(ids);
    const searches = new Set(ids.flatMap((id) => this.passages.get(id)?.searches ?? []));
    const confidences = [...searches].map((search) => passageConfidence(search, cited));
    return Math.max(...confidences, ids.some((id) => this.results.has(id)) ? TOOL_CONFIDENCE : 0);
  }

  /**
   * Finds the evidence that supports a claim: all that the model cited for it, otherwise the one text that has most of it; undefined
   * if no text has.
   * @param cited the ids that the model wrote into the sentence.
   */
  supportOf(claim: Claim, cited: readonly string[]): Support | undefined {
    const supportIn = (ids: readonly string[], isCited: boolean) =>
      ids.map((id) => ({ id, support: this.supportingText(id).supportOf(claim, isCited) })).filter(({ support }) => support > 0);
    const own = supportIn(
      [...new Set(cited)].filter((id) => this.has(id)),
      true,
    );
    if (own.length > 0) return { ids: own.map(({ id }) => id), support: Math.max(...own.map(({ support }) => support)) };
    const [best] = supportIn(this.ids(), false).toSorted((a, b) => b.support - a.support);
    return best && { ids: [best.id], support: best.support };
  }

  /** The terms and numbers of all evidence. */
  terms(): Set<string> {
    return new Set(this.ids().flatMap((id) => [...this.supportingText(id).terms]));
  }

  private ids(): string[] {
    return [...this.passages.keys(), ...this.results.keys()];
  }

  private supportingText(id: string): SupportingText {
    const known = this.supporting.get(id);
    if (known) return known;
    const passage = this.passages.get(id)?.passage;
    // A tool's result need not repeat what it was asked for, such as an order number that the visitor wrote.
    const text = passage
      ? new SupportingText(passage.content, `${passage.title}\n${passage.heading ?? ""}`)
      : new SupportingText(this.results.get(id)!, this.question);
    this.supporting.set(id, text);
    return text;
  }

  /** The texts of all evidence, which an answer may repeat. */
  texts(): string[] {
    const passages = [...this.passages.values()].flatMap(({ passage }) => [passage.url ?? "", passage.content]);
    return [...passages, ...this.results.values()];
  }
}

function promptText({ title, heading, url, content }: CitablePassage): string {
  const about = [`Title: ${title}`, ...(heading === null ? [] : [`Heading: ${heading}`]), ...(url === null ? [] : [`URL: ${url}`])];
  return `${about.join("\n")}\n\n${content}`;
}

function isSame(a: CitablePassage, b: CitablePassage): boolean {
  return a.sourceId === b.sourceId && a.heading === b.heading && a.content === b.content;
}

/** Added to the log-odds of the lexical confidence, since the model itself cited the passages: even odds become four in five. */
const CITATION_LOG_ODDS = 1.5;
/** A question and its answer may have no word in common, as in two languages. With the citation this makes about even odds. */
const MIN_LEXICAL_CONFIDENCE = 0.2;

/** Returns the probability, 0..1, that an answer from the cited passages of a search is right. */
function passageConfidence({ question, retrieval }: Search, cited: readonly CitablePassage[]): number {
  const passages = retrieval.passages.filter((passage) => cited.includes(passage));
  const lexical = Math.max(draftAnswer(question, { ...retrieval, passages }).confidence, MIN_LEXICAL_CONFIDENCE);
  const curated = retrieval.curated.filter(({ answerId }) => cited.some(({ sourceId }) => sourceId === answerId));
  const byCitation = 1 / (1 + Math.exp(-(Math.log(lexical / (1 - lexical)) + CITATION_LOG_ODDS)));
  return Math.max(byCitation, ...curated.map(({ score }) => score));
}

/** English has about four bytes a token, most other writing systems three or fewer: an estimate on the safe side. */
const BYTES_PER_TOKEN = 3;

/** Estimates the number of tokens of a text, rather too high than too low for the tokenizers of the usual models. */
export function estimateTokens(text: string): number {
  return Math.ceil(utf8Length(text) / BYTES_PER_TOKEN);
}

/** Returns the text, or its beginning of at most that many tokens with an ellipsis. */
export function truncateToTokens(text: string, tokens: number): string {
  const beginning = truncateBytes(text, tokens * BYTES_PER_TOKEN);
  return beginning === text ? text : `${beginning}…`;
}
