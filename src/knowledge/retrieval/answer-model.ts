/** An answer with all questions that it is given to. */
interface AnswerClass {
  key: string;
  /** Row ids of its questions. */
  questions: Set<number>;
  /** The shares that each feature has in its questions, summed. */
  weights: Map<string, number>;
}

/** How well an answer fits a question. */
export interface RankedAnswer {
  questions: ReadonlySet<number>;
  /** At most about 2; near 0 where the question is like any other. */
  evidence: number;
}

/** What joins the words of a pair. */
export const PAIR = "~";

type Features = ReadonlyMap<string, number>;

/** Each answer is taken to have one more question, made of the words of all: so a word it lacks does not rule it out. */
const BACKGROUND_QUESTIONS = 1;
/** What is told of an answer that is a few thousand characters long stands in its beginning. */
const KEY_LENGTH = 512;

/**
 * Tells which curated answer a question asks for, from the questions that each answer has: several phrasings of one
 * answer speak for it together. Two textbook measures are added: the cosine of the question and of all the answer's
 * questions, features weighted by how few answers have them; and naive Bayes with a background, as a share of the most
 * that the question could give. It lives in memory, is built from the rows in a fraction of a second, and changes with them.
 */
export class AnswerModel {
  private readonly classes = new Map<string, AnswerClass>();
  /** Which answers have a feature, and in how many questions. */
  private readonly postings = new Map<string, Map<AnswerClass, number>>();
  private readonly documents = new Map<string, number>();
  private lengths: Map<AnswerClass, number> | undefined;
  private questions = 0;

  /** How many questions there are. */
  get size(): number {
    return this.questions;
  }

  /** In how many questions a feature stands. */
  documentsOf(feature: string): number {
    return this.documents.get(feature) ?? 0;
  }

  /** Features that begin with these letters, with the number of their questions. */
  beginningWith(prefix: string): Map<string, number> {
    return new Map([...this.documents].filter(([feature]) => feature.startsWith(prefix) && !feature.includes(PAIR)));
  }

  add(row: number, answer: string, features: Features): void {
    const key = keyOf(answer);
    const own = this.classes.get(key) ?? { key, questions: new Set(), weights: new Map() };
    this.classes.set(key, own);
    own.questions.add(row);
    this.count(own, features, 1);
  }

  remove(row: number, answer: string, features: Features): void {
    const own = this.classes.get(keyOf(answer));
    if (!own?.questions.delete(row)) return;
    this.count(own, features, -1);
    if (own.questions.size === 0) this.classes.delete(own.key);
  }

  /** The answers that share more than words of grammar with a question, unless it has no others, best first. */
  rank(asked: Features, limit: number): RankedAnswer[] {
    const isOfGrammar = [...asked.keys()].every(isGrammar);
    const related = new Set<AnswerClass>();
    const likeness = new Map<AnswerClass, number>();
    const bayes = new Map<AnswerClass, number>();
    let length = 0;
    let most = 0;
    let ofNone = 0;
    for (const [feature, share] of asked) {
      const documents = this.documentsOf(feature);
      most += share * Math.log((this.questions + 1) / (documents + 0.5));
      const holders = this.postings.get(feature);
      if (!holders) continue;
      const background = documents / this.questions;
      const rarity = this.rarity(feature);
      const weight = share * rarity;
      length += weight ** 2;
      ofNone += share;
      for (const [holder, count] of holders) {
        if (isOfGrammar || !isGrammar(feature)) related.add(holder);
        add(likeness, holder, weight * rarity * holder.weights.get(feature)!);
        // Beside what every answer gets that lacks the feature, so that only those that have it are visited.
        add(bayes, holder, share * Math.log(1 + count / (BACKGROUND_QUESTIONS * background)));
      }
    }
    this.lengths ??= this.measure();
    const ranked = [...related].map((own) => {
      const cosine = likeness.get(own)! / Math.sqrt(length) / this.lengths!.get(own)!;
      const lacking = ofNone * Math.log(BACKGROUND_QUESTIONS / (own.questions.size + BACKGROUND_QUESTIONS));
      const prior = Math.log(own.questions.size);
      return { questions: own.questions, evidence: cosine + (prior + bayes.get(own)! + lacking) / most };
    });
    return ranked.sort((a, b) => b.evidence - a.evidence).slice(0, limit);
  }

  private count(own: AnswerClass, features: Features, change: 1 | -1): void {
    for (const [feature, share] of features) {
      const holders = this.postings.get(feature) ?? new Map<AnswerClass, number>();
      this.postings.set(feature, holders);
      add(own.weights, feature, change * share);
      add(holders, own, change);
      add(this.documents, feature, change);
      if (holders.get(own) === 0) {
        own.weights.delete(feature);
        holders.delete(own);
      }
      if (holders.size === 0) {
        this.postings.delete(feature);
        this.documents.delete(feature);
      }
    }
    this.questions += change;
    this.lengths = undefined;
  }

  /** Inverse frequency by answers, not by questions: what stands in all phrasings of one answer tells of it. */
  private rarity(feature: string): number {
    return Math.log(1 + this.classes.size / this.postings.get(feature)!.size);
  }

  private measure(): Map<AnswerClass, number> {
    const rarities = new Map<string, number>();
    for (const feature of this.postings.keys()) rarities.set(feature, this.rarity(feature));
    const lengthOf = ({ weights }: AnswerClass): number => {
      let sum = 0;
      for (const [feature, weight] of weights) sum += (weight * rarities.get(feature)!) ** 2;
      return Math.sqrt(sum);
    };
    return new Map([...this.classes.values()].map((own) => [own, lengthOf(own)]));
  }
}

/** Terms of stop words begin with this sign. */
function isGrammar(feature: string): boolean {
  return feature.startsWith("_");
}

function add<Key>(sums: Map<Key, number>, key: Key, amount: number): void {
  sums.set(key, (sums.get(key) ?? 0) + amount);
}

/** Answers with the same beginning and length are one. */
function keyOf(answer: string): string {
  return `${answer.length}:${answer.slice(0, KEY_LENGTH)}`;
}
