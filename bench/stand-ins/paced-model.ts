import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { parentPort } from "node:worker_threads";

/*
 * A server of the OpenAI protocol that writes either at a fixed pace or all at once. It runs in a worker thread, so that it
 * keeps its pace while this process reads streams.
 */

/** The names of its two models. */
export const PACED = "paced";
export const INSTANT = "instant";

/** 50 tokens a second, for three seconds. */
export const TOKEN_MS = 20;
export const TOKENS = 150;

/** How many words each sentence of the answer has: the service shows whole sentences. */
const SENTENCE_WORDS = 10;
/** The end of its first sentence. */
export const FIRST_SENTENCE_END = `word${SENTENCE_WORDS - 1}.`;

/** The first token names the passage that the answer cites, and is not part of the answer. */
const tokens = ["@sources p1\n", ...Array.from({ length: TOKENS - 1 }, (_, at) => wordAt(at))];

function wordAt(at: number): string {
  const place = at % SENTENCE_WORDS;
  if (place === 0) return ` Word${at}`;
  return place === SENTENCE_WORDS - 1 ? ` word${at}.` : ` word${at}`;
}

const chunk = (content: string | null, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: "bench", object: "chat.completion.chunk", created: 1, model: "bench", choices: [{ index: 0, delta: content === null ? {} : { content }, finish_reason: finish }] })}\n\n`;
const lines = [...tokens.map((token) => chunk(token)), `${chunk(null, "stop")}data: [DONE]\n\n`];

/** Each token at its time since the request, so that what is late once does not make the rest late. */
async function pace(response: ServerResponse): Promise<void> {
  const startMs = performance.now();
  for (const [at, line] of lines.entries()) {
    const dueInMs = startMs + (at + 1) * TOKEN_MS - performance.now();
    if (dueInMs > 0) await sleep(dueInMs);
    response.write(line);
  }
  response.end();
}

const server = createServer((request, response) => {
  void (async () => {
    const { model } = JSON.parse(Buffer.concat(await request.toArray()).toString()) as { model: string };
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    if (model === INSTANT) return response.end(lines.join(""));
    if (model === PACED) return pace(response);
    throw new Error(`No model ${model}`);
  })().catch((error: unknown) => response.destroy(error as Error));
});
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread's port has no origin
if (parentPort) server.listen(0, "127.0.0.1", () => parentPort!.postMessage((server.address() as AddressInfo).port));
