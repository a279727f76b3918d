import { ExtractiveModel } from "./extractive.ts";
import { PASSAGE_TOKENS, TOOL_RESULT_TOKENS } from "./limits.ts";
import { cutToTokens, estimateTokens } from "./prompt.ts";
import type { Passage, Retrieval } from "./retrieval.ts";

/** A passage, and the searches that found it. */
interface Given {
  passage: Passage;
  searches: Search[];
}

interface Search {
  question: string;
  retrieval: Retrieval;
}

/** What an answer rests on. */
export interface Support {
  cited: Passage[];
  /** 0..1: how likely an answer from it is right. */
  confidence: number;
}

/** Of what a tool said, an answer is right but for the model's own reading of it. */
const TOOL_CONFIDENCE = 0.85;

/** All that a model was given in one turn, by the short ids that it was given it under. Nothing else can be cited. */
export class Evidence {
  private readonly passages = new Map<string, Given>();
  private readonly results = new Map<string, string>();

  constructor(private readonly quotation: Quotation) {}

  /** Gives passages, the best first, as far as they fit. Returns them as the model reads them. */
  givePassages(search: Search): string {
    let left = PASSAGE_TOKENS;
    const quoted: string[] = [];
    for (const passage of search.retrieval.passages) {
      const known = [...this.passages].find(([, given]) => isSame(given.passage, passage));
      const [id, given] = known ?? [`p${this.passages.size + 1}`, { passage, searches: [] }];
      const text = known ? "(given above)" : describe(passage);
      left -= estimateTokens(text);
      if (left < 0) break;
      given.searches.push(search);
      this.passages.set(id, given);
      quoted.push(this.quotation.quote(`passage ${id}`, text));
    }
    return quoted.join("\n\n");
  }

  /** Gives what a tool said, cut to a readable length. */
  giveResult(text: string): string {
    const id = `t${this.results.size + 1}`;
    this.results.set(id, text);
    return this.quotation.quote(`result ${id}`, cutToTokens(text, TOOL_RESULT_TOKENS));
  }

  /** Quotes what a tool said that did not work. It has no id: nothing can rest on it. */
  quoteFailure(text: string): string {
    return this.quotation.quote("failure", cutToTokens(text, TOOL_RESULT_TOKENS));
  }

  has(id: string): boolean {
    return this.passages.has(id) || this.results.has(id);
  }

  /** What the ids stand for, unknown ones left out; undefined where nothing is left. */
  async supportOf(ids: readonly string[]): Promise<Support | undefined> {
    const given = [...new Set(ids)].flatMap((id) => this.passages.get(id) ?? []);
    const hasResult = ids.some((id) => this.results.has(id));
    if (given.length === 0 && !hasResult) return undefined;
    const cited = given.map(({ passage }) => passage);
    const searches = [...new Set(given.flatMap(({ searches }) => searches))];
    const groundings = await Promise.all(searches.map(({ question, retrieval }) => groundingOf(question, retrieval, cited)));
    return { cited, confidence: Math.max(...groundings, hasResult ? TOOL_CONFIDENCE : 0) };
  }

  /** Every text that was given: what an answer may repeat. */
  texts(): string[] {
    const passages = [...this.passages.values()].flatMap(({ passage }) => [passage.url ?? "", passage.content]);
    return [...passages, ...this.results.values()];
  }
}

function describe({ title, heading, url, content }: Passage): string {
  const about = [`Title: ${title}`, ...(heading === null ? [] : [`Heading: ${heading}`]), ...(url === null ? [] : [`URL: ${url}`])];
  return `${about.join("\n")}\n\n${content}`;
}

function isSame(a: Passage, b: Passage): boolean {
  return a.sourceId === b.sourceId && a.heading === b.heading && a.content === b.content;
}

/**
 * What a language model's own "this passage answers it" adds to what the words say, in log-odds: a passage with even odds
 * becomes one that is right four times in five.
 */
const MODEL_VOTE = 1.5;
/**
 * The words of a question and its answer may differ altogether, as in another language: then what the model says counts
 * for about even odds, and no more.
 */
const MIN_ODDS = 0.2;

const extractive = new ExtractiveModel();

/** 0..1: how likely an answer from these passages is right, which a model says answer the question. */
async function groundingOf(question: string, retrieval: Retrieval, cited: readonly Passage[]): Promise<number> {
  const passages = retrieval.passages.filter((passage) => cited.includes(passage));
  const { confidence } = await extractive.answer({
    question,
    previousQuestions: [],
    retrieval: { ...retrieval, passages },
    instructions: null,
    language: "en",
  });
  const odds = Math.max(confidence, MIN_ODDS);
  return 1 / (1 + Math.exp(-(Math.log(odds / (1 - odds)) + MODEL_VOTE)));
}

/**
 * Quotes what others wrote as data. The mark is random and made anew for each turn, so that no text can hold it: none
 * can end its own quotation, or begin another.
 */
export class Quotation {
  constructor(readonly mark: string = crypto.randomUUID()) {}

  /** @param label says what is quoted: a word of ours, with an id of ours. */
  quote(label: string, text: string): string {
    return `<<${label} ${this.mark}>>\n${text}\n<<end ${this.mark}>>`;
  }
}
