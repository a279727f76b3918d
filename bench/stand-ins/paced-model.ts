import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { parentPort, Worker } from "node:worker_threads";
import { serve } from "./serve.ts";

/*
 * A server of the OpenAI protocol that writes either at a fixed pace or all at once. It runs in a worker thread, so that it
 * keeps its pace while the main thread reads streams.
 */

/** Starts the server in a thread of its own. @returns its origin, and a function that ends it. */
export async function startPacedModel(): Promise<{ origin: string; close: () => Promise<unknown> }> {
  const thread = new Worker(new URL(import.meta.url));
  const [origin] = (await once(thread, "message")) as [string];
  return { origin, close: () => thread.terminate() };
}

/** The names of its two models. */
export const PACED = "paced";
export const INSTANT = "instant";

/** 50 tokens a second, for three seconds. */
export const TOKEN_MS = 20;
export const TOKENS = 150;

/** The number of words in a sentence of the answer, because the service shows whole sentences. */
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

/** Writes each token at its time since the request, so that a late one does not delay the others. */
async function pace(response: ServerResponse): Promise<void> {
  const startMs = performance.now();
  for (const [at, line] of lines.entries()) {
    const dueInMs = startMs + (at + 1) * TOKEN_MS - performance.now();
    if (dueInMs > 0) await sleep(dueInMs);
    response.write(line);
  }
  response.end();
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  void (async () => {
    const { model } = JSON.parse(Buffer.concat(await request.toArray()).toString()) as { model: string };
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    if (model === INSTANT) return response.end(lines.join(""));
    if (model === PACED) return pace(response);
    throw new Error(`No model ${model}`);
  })().catch((error: unknown) => response.destroy(error as Error));
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread's port has no origin
parentPort?.postMessage((await serve(answer)).origin);
