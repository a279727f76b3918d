import { serve } from "./serve.ts";

/** A server of the OpenAI protocol that answers at once and counts what it reads. */
export interface CountingModel {
  baseUrl: string;
  /** The characters of each prompt, with its tools. */
  prompts: number[];
  close(): Promise<void>;
}

/** An answer of the usual length. Its first line names the passage that it rests on. */
const ANSWER = `@sources p1\n${"Refunds are paid to the original payment method within five working days after the parcel reaches the warehouse. ".repeat(4)}`;

export async function startCountingModel(): Promise<CountingModel> {
  const prompts: number[] = [];
  const { origin, close } = await serve((request, response) => {
    void (async () => {
      const { messages, tools } = JSON.parse(Buffer.concat(await request.toArray()).toString()) as { messages: unknown; tools?: unknown };
      prompts.push(JSON.stringify(messages).length + (tools === undefined ? 0 : JSON.stringify(tools).length));
      const chunk = (delta: object, finish: string | null) =>
        `data: ${JSON.stringify({ id: "costs", object: "chat.completion.chunk", created: 1, model: "costs", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      response.end(`${chunk({ content: ANSWER }, null)}${chunk({}, "stop")}data: [DONE]\n\n`);
    })().catch((error: unknown) => response.destroy(error as Error));
  });
  return { baseUrl: `${origin}/v1`, prompts, close };
}
