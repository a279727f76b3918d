import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A server of the OpenAI protocol that answers at once and keeps count of what it is given to read. */
export interface CountingModel {
  baseUrl: string;
  /** Characters of each prompt, tools and all. */
  prompts: number[];
  close(): Promise<void>;
}

/** What it answers: about as long as a support agent's. The first line names the passage that the answer rests on. */
const ANSWER = `@sources p1\n${"Refunds are paid to the original payment method within five working days after the parcel reaches the warehouse. ".repeat(4)}`;

export async function startCountingModel(): Promise<CountingModel> {
  const prompts: number[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const { messages, tools } = JSON.parse(Buffer.concat(await request.toArray()).toString()) as { messages: unknown; tools?: unknown };
      prompts.push(JSON.stringify(messages).length + (tools === undefined ? 0 : JSON.stringify(tools).length));
      const chunk = (delta: object, finish: string | null) =>
        `data: ${JSON.stringify({ id: "costs", object: "chat.completion.chunk", created: 1, model: "costs", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      response.end(`${chunk({ content: ANSWER }, null)}${chunk({}, "stop")}data: [DONE]\n\n`);
    })().catch((error: unknown) => response.destroy(error as Error));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, prompts, close };
}
