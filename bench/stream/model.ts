import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { parentPort } from "node:worker_threads";
import { FIRST_WORD, INSTANT, PACED, TOKEN_MS, TOKENS } from "./terms.ts";

// Runs in a thread of its own: a server of the OpenAI protocol that writes as fast as it is asked to.
/** The first one names the passage that the answer rests on, and is not part of it. */
const tokens = ["@sources p1\n", FIRST_WORD, ...Array.from({ length: TOKENS - 2 }, (_, at) => ` word${at}`)];

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
server.listen(0, "127.0.0.1", () => parentPort!.postMessage((server.address() as AddressInfo).port));
