const MAX_TEXTS = 100;
const DIMENSIONS = 1_024;

/** Synonyms, which a real model knows. */
const CONCEPTS: Record<string, string> = {
  reimbursement: "refund",
  recompense: "refund",
  reimbursements: "refund",
  refunds: "refund",
  automobile: "car",
  automobiles: "car",
  cars: "car",
  postage: "shipping",
};
const EMPTY = new Set([
  "the",
  "a",
  "an",
  "is",
  "are",
  "of",
  "for",
  "to",
  "in",
  "do",
  "does",
  "you",
  "your",
  "my",
  "i",
  "how",
  "what",
  "it",
  "and",
  "on",
]);

/** A component that all vectors share: as with real models, the cosine of unrelated texts is not 0 but 0.39. */
const COMMON = 0.8;

type Fault = "fails" | "hangs" | "nonsense";

/** The Workers AI binding with a reranker and an embedding model whose vectors count concepts. It records its inputs. */
export class EmbeddingsStandIn {
  readonly embedded: string[] = [];
  readonly batches: number[] = [];
  readonly reranked: { query: string; contexts: { text: string }[]; top_k: number }[] = [];
  readonly faults = new Map<"embed" | "rerank", Fault>();
  /** A call with a text that contains this word is refused. */
  refused: string | undefined;

  async run(model: string, input: any): Promise<unknown> {
    if (model === "@cf/baai/bge-m3") return this.embed(input.text);
    if (model === "@cf/baai/bge-reranker-base") return this.rerank(input);
    throw new Error(`5007: No such model ${model}`);
  }

  /** Clears the recorded inputs. */
  clear(): void {
    this.embedded.length = 0;
    this.batches.length = 0;
  }

  private async embed(texts: string[]): Promise<unknown> {
    await fault(this.faults.get("embed"));
    this.batches.push(texts.length);
    if (texts.length > MAX_TEXTS) throw new Error(`3006: at most ${MAX_TEXTS} texts`);
    if (this.refused !== undefined && texts.some((text) => text.includes(this.refused!))) throw new Error("3030: a text is refused");
    if (this.faults.get("embed") === "nonsense") return { shape: [1, 3], data: [[1, 2, Number.NaN]] };
    this.embedded.push(...texts);
    return { shape: [texts.length, DIMENSIONS], data: texts.map((text) => vectorOf(text)) };
  }

  private async rerank(input: { query: string; contexts: { text: string }[]; top_k: number }): Promise<unknown> {
    this.reranked.push(input);
    await fault(this.faults.get("rerank"));
    if (this.faults.get("rerank") === "nonsense") return { response: [{ id: 7, score: 1 }] };
    const asked = new Set(conceptsOf(input.query));
    const scored = input.contexts.map(({ text }, id) => {
      const held = new Set(conceptsOf(text));
      return { id, score: [...asked].filter((concept) => held.has(concept)).length / Math.max(asked.size, 1) };
    });
    return { response: scored.toSorted((a, b) => b.score - a.score).slice(0, input.top_k) };
  }
}

async function fault(kind: Fault | undefined): Promise<void> {
  if (kind === "fails") throw new Error("3040: capacity temporarily exceeded");
  if (kind === "hangs") await new Promise(() => undefined);
}

function conceptsOf(text: string): string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.filter((word) => !EMPTY.has(word)).map((word) => CONCEPTS[word] ?? word);
}

/** The vector of a text, which counts its concepts under any of their names. */
export function vectorOf(text: string, dimensions = DIMENSIONS): number[] {
  const values = Array.from({ length: dimensions }, () => 0);
  for (const concept of conceptsOf(text)) {
    let hash = 2_166_136_261;
    for (const letter of concept) hash = Math.imul(hash ^ letter.codePointAt(0)!, 16_777_619) >>> 0;
    values[1 + (hash % (dimensions - 1))]! += 1;
  }
  const length = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0)) || 1;
  return values.map((value, at) => (at === 0 ? COMMON : value / length));
}
