import { serve } from "./serve.ts";

/** A server of the OpenAI protocol that answers and embeds at once and counts what it reads. */
export interface CountingModel {
  baseUrl: string;
  /** The characters of each prompt, with its tools. */
  prompts: number[];
  /** The characters of each text that was embedded. */
  embedded: number[];
  close(): Promise<void>;
}

/** An answer of the usual length. Its first line names the passage that it rests on. */
const ANSWER = `@sources p1\n${"Refunds are paid to the original payment method within five working days after the parcel reaches the warehouse. ".repeat(4)}`;

/** As many as those of the default model have. */
const DIMENSIONS = 1_024;

interface ModelRequest {
  messages?: unknown;
  tools?: unknown;
  /** The texts to embed. */
  input?: string[];
}

export async function startCountingModel(): Promise<CountingModel> {
  const prompts: number[] = [];
  const embedded: number[] = [];
  const { origin, close } = await serve((request, response) => {
    void (async () => {
      const { messages, tools, input } = JSON.parse(Buffer.concat(await request.toArray()).toString()) as ModelRequest;
      if (input) {
        for (const { length } of input) embedded.push(length);
        const data = input.map((text, index) => ({ object: "embedding", index, embedding: vectorOf(text) }));
        response.writeHead(200, { "Content-Type": "application/json" });
        return response.end(JSON.stringify({ object: "list", data, model: "costs" }));
      }
      prompts.push(JSON.stringify(messages).length + (tools === undefined ? 0 : JSON.stringify(tools).length));
      const chunk = (delta: object, finish: string | null) =>
        `data: ${JSON.stringify({ id: "costs", object: "chat.completion.chunk", created: 1, model: "costs", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      response.end(`${chunk({ content: ANSWER }, null)}${chunk({}, "stop")}data: [DONE]\n\n`);
    })().catch((error: unknown) => response.destroy(error as Error));
  });
  return { baseUrl: `${origin}/v1`, prompts, embedded, close };
}

/** A vector that only depends on the text. */
function vectorOf(text: string): number[] {
  return Array.from({ length: DIMENSIONS }, (_, at) => ((text.charCodeAt(at % text.length) * (at + 1)) % 201) / 100 - 1);
}
