import { vectorOf } from "./workers-ai-embeddings.ts";

const EMBEDDINGS_PATH = "/v1/embeddings";

/** An OpenAI-compatible server of embedding models, as Ollama is one. It records which model embedded which texts. */
export class EmbeddingServerStandIn {
  readonly baseUrl = `http://${crypto.randomUUID()}.models.test/v1`;
  /** The dimensions of each model that it has. */
  readonly models: Map<string, number>;
  readonly embedded: { model: string; text: string }[] = [];
  /** Whether every call fails, or the model whose calls fail. */
  isDown: boolean | string = false;

  constructor(models: Record<string, number>) {
    this.models = new Map(Object.entries(models));
  }

  /** Answers a request to this server; undefined for any other. */
  async answer(request: Request): Promise<Response | undefined> {
    const { origin, pathname } = new URL(request.url);
    if (!this.baseUrl.startsWith(origin)) return undefined;
    const { model, input } = await request.json<{ model: string; input: string[] }>();
    const dimensions = this.models.get(model);
    if (pathname !== EMBEDDINGS_PATH || dimensions === undefined) return refusal(404, `model "${model}" not found`);
    if (this.isDown === true || this.isDown === model) return refusal(503, "the server is loading a model");
    for (const text of input) this.embedded.push({ model, text });
    const data = input.map((text, index) => ({ object: "embedding", index, embedding: vectorOf(text, dimensions) }));
    return Response.json({ object: "list", model, data, usage: { prompt_tokens: 1, total_tokens: 1 } });
  }
}

function refusal(status: number, message: string): Response {
  return Response.json({ error: { message, type: "api_error", param: null, code: null } }, { status });
}
