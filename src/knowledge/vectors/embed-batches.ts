import { EMBEDDED_AT_ONCE, type Embeddings } from "../../models/embeddings.ts";

/** A model may take the tokens of a whole call together (bge-m3: 60,000); usual text has three bytes a token or more. */
const BYTES_A_CALL = 120_000;
/** Nobody waits for it: a model that is loaded first takes a while. */
const LIMIT_MS = 30_000;
/** A text that no model refuses. */
const PLAIN_TEXT = "Hello";

/**
 * The vectors of any number of texts, in their order; undefined for a text that the model refuses while it takes others.
 * @throws Error when the model is down.
 */
export async function embedAll(embeddings: Embeddings, texts: readonly string[]): Promise<(number[] | undefined)[]> {
  const calls = callsOf(texts).map((call) => embedOrSplit(embeddings, call));
  return (await Promise.all(calls)).flat();
}

async function embedOrSplit(embeddings: Embeddings, texts: readonly string[]): Promise<(number[] | undefined)[]> {
  try {
    return await embeddings.embed(texts, LIMIT_MS);
  } catch {
    // Is it down, or does it refuse one of these texts?
    await embeddings.embed([PLAIN_TEXT], LIMIT_MS);
    if (texts.length === 1) return [undefined];
    const half = Math.ceil(texts.length / 2);
    return [...(await embedOrSplit(embeddings, texts.slice(0, half))), ...(await embedOrSplit(embeddings, texts.slice(half)))];
  }
}

/** The texts in parts that one call may take. */
function callsOf(texts: readonly string[]): string[][] {
  const encoder = new TextEncoder();
  const calls: string[][] = [];
  let bytes = 0;
  for (const text of texts) {
    const size = encoder.encode(text).length;
    const call = calls.at(-1);
    if (call && call.length < EMBEDDED_AT_ONCE && bytes + size <= BYTES_A_CALL) {
      call.push(text);
      bytes += size;
    } else {
      calls.push([text]);
      bytes = size;
    }
  }
  return calls;
}
