import { describe, expect, test } from "vitest";
import { embeddingsFor, embeddingsOfVersion } from "../../src/models/retrieval-models.ts";
import { configProblems } from "../../src/platform/config.ts";
import { envWith } from "../harness.ts";
import { EmbeddingsStandIn } from "../stand-ins/workers-ai-embeddings.ts";

const SERVER = {
  OPENAI_BASE_URL: "http://models.test/v1",
  OPENAI_MODEL: "large",
  OPENAI_EMBEDDING_MODEL: "small",
  OPENAI_API_KEY: "secret",
};

/** An OpenAI-compatible server with the given response. */
function server(answer: (input: string[]) => unknown, status = 200) {
  const asked: { url: string; key: string | null; body: any }[] = [];
  const send = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init);
    const body: any = await request.json();
    asked.push({ url: request.url, key: request.headers.get("Authorization"), body });
    return Response.json(answer(body.input), { status });
  };
  return { asked, send };
}

const vectors = (input: string[]) => ({ data: input.map((text, index) => ({ index, embedding: [text.length, 1] })), model: "small" });

describe("an OpenAI-compatible server", () => {
  test("embeds all texts in one call, with key and model", async () => {
    const { asked, send } = server(vectors);
    const embeddings = embeddingsFor(envWith(SERVER), send)!;
    expect(await embeddings.embed(["a", "bcd"], 1_000)).toEqual([
      [1, 1],
      [3, 1],
    ]);
    expect(asked).toMatchObject([
      { url: "http://models.test/v1/embeddings", key: "Bearer secret", body: { model: "small", input: ["a", "bcd"] } },
    ]);
    expect(asked[0]!.body.dimensions).toBe(undefined);
  });

  test("computes vectors of a version that was configured before, with its model and dimensions", async () => {
    const { asked, send } = server(vectors);
    const old = { ...SERVER, OPENAI_EMBEDDING_MODEL: "old:latest", OPENAI_EMBEDDING_DIMENSIONS: "2" };
    const { version } = embeddingsFor(envWith(old))!;
    const embeddings = embeddingsOfVersion(envWith(SERVER), version, send)!;
    expect(embeddings.version).toBe(version);
    await embeddings.embed(["a"], 1_000);
    expect(asked[0]!.body).toMatchObject({ model: "old:latest", dimensions: 2 });
    expect(embeddingsOfVersion(envWith({}), version)).toBe(undefined);
  });

  test("is asked for the configured dimensions, and vectors of others are refused", async () => {
    const { asked, send } = server(vectors);
    const embeddings = embeddingsFor(envWith({ ...SERVER, OPENAI_EMBEDDING_DIMENSIONS: "1024" }), send)!;
    await expect(embeddings.embed(["a"], 1_000)).rejects.toThrow("other dimensions");
    expect(asked[0]!.body.dimensions).toBe(1_024);
    expect(embeddings.version).not.toBe(embeddingsFor(envWith(SERVER), send)!.version);
  });

  test.each<[string, unknown, number]>([
    ["too few vectors", { data: [{ embedding: [1, 2] }] }, 200],
    ["vectors of several lengths", { data: [{ embedding: [1, 2] }, { embedding: [1] }] }, 200],
    ["empty vectors", { data: [{ embedding: [] }, { embedding: [] }] }, 200],
    ["no numbers", { data: [{ embedding: ["1"] }, { embedding: [null] }] }, 200],
    ["something else", { hello: "world" }, 200],
    ["an error", { error: { message: "no" } }, 500],
    ["a redirect", {}, 302],
  ])("is refused where it returns %s", async (_, answer, status) => {
    const embeddings = embeddingsFor(envWith(SERVER), server(() => answer, status).send)!;
    await expect(embeddings.embed(["a", "b"], 1_000)).rejects.toThrow();
  });

  test("is preferred to Workers AI", () => {
    const AI = new EmbeddingsStandIn();
    expect(embeddingsFor(envWith({ ...SERVER, AI }))!.version).toBe("small:own");
    expect(embeddingsFor(envWith({ AI, OPENAI_BASE_URL: "http://models.test/v1" }))!.version).toBe("@cf/baai/bge-m3:1024");
    expect(embeddingsFor(envWith({}))).toBe(undefined);
  });
});

test.each([
  [{ OPENAI_EMBEDDING_MODEL: "small" }, "OPENAI_BASE_URL"],
  [{ ...SERVER, OPENAI_EMBEDDING_DIMENSIONS: "2000" }, "OPENAI_EMBEDDING_DIMENSIONS"],
  [{ ...SERVER, OPENAI_EMBEDDING_DIMENSIONS: "many" }, "OPENAI_EMBEDDING_DIMENSIONS"],
])("%j is reported as a configuration problem", (bindings, variable) => {
  expect(configProblems(envWith(bindings)).join()).toContain(variable);
  expect(configProblems(envWith({ OPENAI_EMBEDDING_MODEL: "", OPENAI_EMBEDDING_DIMENSIONS: "" }))).toEqual([]);
});
