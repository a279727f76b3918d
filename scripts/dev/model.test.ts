import assert from "node:assert/strict";
import { createServer, type RequestListener, type Server } from "node:http";
import { after, test } from "node:test";
import { UserError } from "../shared/cli.ts";
import { listen } from "../shared/ports.ts";
import { chooseChatModel, chooseEmbeddingModel, chooseModel } from "./model.ts";

// The lists of models as each server writes them.
const OLLAMA = list(
  ...["nomic-embed-text:latest", "gpt-oss:120b-cloud", "deepseek-r1:8b", "llama3.2:latest", "qwen2.5-coder:7b"].map((id) => ({
    id,
    object: "model",
    created: 1_762_000_000,
    owned_by: "library",
  })),
);
const LM_STUDIO = list(
  ...["text-embedding-nomic-embed-text-v1.5", "qwen2.5-vl-7b-instruct", "meta-llama-3.1-8b-instruct"].map((id) => ({
    id,
    object: "model",
    owned_by: "organization_owner",
  })),
);
const LLAMA_CPP_PATH = "/home/ada/models/Llama-3.2-3B-Instruct-Q4_K_M.gguf";
const LLAMA_CPP = {
  models: [{ name: LLAMA_CPP_PATH, model: LLAMA_CPP_PATH, modified_at: "", size: "", type: "model", capabilities: ["completion"] }],
  ...list({
    id: LLAMA_CPP_PATH,
    object: "model",
    created: 1_762_000_000,
    owned_by: "llamacpp",
    meta: { vocab_type: 2, n_vocab: 128_256, n_ctx_train: 131_072, n_embd: 3_072, n_params: 3_212_749_888, size: 2_011_539_712 },
  }),
};
const VLLM = list({
  id: "Qwen/Qwen2.5-7B-Instruct",
  object: "model",
  created: 1_762_000_000,
  owned_by: "vllm",
  root: "Qwen/Qwen2.5-7B-Instruct",
  parent: null,
  max_model_len: 32_768,
  permission: [{ id: "modelperm-1", object: "model_permission", allow_sampling: true, organization: "*", group: null }],
});

function list<Model>(...data: Model[]) {
  return { object: "list", data };
}

const open: Server[] = [];
after(() => open.forEach((server) => (server.closeAllConnections(), server.close())));

/** A server on this machine; `requests` are the paths that it was asked for. */
async function serve(name: string, listener: RequestListener) {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(request.url!);
    listener(request, response);
  });
  open.push(server);
  const { port } = new URL(await listen(server));
  return { name, port: Number(port), requests };
}

const serveModels = (name: string, models: object) =>
  serve(name, ({ url }, response) => {
    response.writeHead(url === "/v1/models" ? 200 : 404, { "Content-Type": "application/json" });
    response.end(url === "/v1/models" ? JSON.stringify(models) : "{}");
  });

for (const [name, models, chat, embedding] of [
  ["Ollama", OLLAMA, "llama3.2:latest", "nomic-embed-text:latest"],
  ["LM Studio", LM_STUDIO, "meta-llama-3.1-8b-instruct", "text-embedding-nomic-embed-text-v1.5"],
  ["llama.cpp", LLAMA_CPP, LLAMA_CPP_PATH, ""],
  ["vLLM", VLLM, "Qwen/Qwen2.5-7B-Instruct", ""],
] as const) {
  void test(`the chat and the embedding model of ${name} are used`, async () => {
    const server = await serveModels(name, models);
    const { description, vars } = await chooseModel(undefined, {}, [server]);
    const OPENAI_BASE_URL = `http://127.0.0.1:${server.port}/v1`;
    assert.deepEqual(vars, { OPENAI_BASE_URL, OPENAI_MODEL: chat, OPENAI_EMBEDDING_MODEL: embedding, OPENAI_API_KEY: "" });
    assert.match(description, new RegExp(`^${chat.split("/").at(-1)}|^${chat}`));
    assert.match(description, new RegExp(` of ${name} on this machine; another: .*--model NAME, none: .*--model none$`));
    assert.doesNotMatch(description, /\n|home/);
  });
}

void test("the first server of the table that offers a chat model is used", async () => {
  const onlyEmbeddings = await serveModels("Ollama", list({ id: "nomic-embed-text:latest", object: "model", owned_by: "library" }));
  const second = await serveModels("LM Studio", LM_STUDIO);
  const third = await serveModels("vLLM", VLLM);
  assert.match((await chooseModel(undefined, {}, [onlyEmbeddings, second, third])).description, /LM Studio/);
});

void test("no server, or something else on its port, means no model", async () => {
  const closed = await serve("Ollama", () => undefined);
  open.at(-1)!.close();
  const others = await Promise.all([
    serve("404", (_, response) => response.writeHead(404).end("not found")),
    serve("HTML", (_, response) => response.writeHead(200, { "Content-Type": "text/html" }).end("<html>Hello</html>")),
    serve("redirect", (_, response) => response.writeHead(302, { Location: "https://example.com/v1/models" }).end()),
    serve("other JSON", (_, response) => response.end(JSON.stringify({ data: { id: "a" } }))),
    serve("odd list", (_, response) => response.end(JSON.stringify({ object: "list", data: [null, 1, { name: "a" }] }))),
    serve("no HTTP", ({ socket }) => socket.end("SSH-2.0-OpenSSH_9.6\r\n")),
  ]);
  const { description, vars } = await chooseModel(undefined, {}, [closed, ...others]);
  assert.match(description, /^none: .*Ollama/);
  assert.deepEqual(vars, {});
  assert.deepEqual(
    others.map(({ requests }) => requests[0]),
    others.map(() => "/v1/models"),
  );
});

void test("a server that hangs is tried twice for 300 ms, in parallel with the others", async () => {
  const hanging = await Promise.all(["Ollama", "LM Studio", "llama.cpp"].map((name) => serve(name, () => undefined)));
  const server = await serveModels("vLLM", VLLM);
  const startedMs = Date.now();
  assert.match((await chooseModel(undefined, {}, [...hanging, server])).description, /vLLM/);
  assert.ok(Date.now() - startedMs < 1_500);
  assert.deepEqual(
    hanging.map(({ requests }) => requests.length),
    [2, 2, 2],
  );
});

void test("a server that is slow at first is found by the second try", async () => {
  let count = 0;
  const server = await serve("Ollama", (_, response) => void (count++ > 0 && response.end(JSON.stringify(OLLAMA))));
  assert.match((await chooseModel(undefined, {}, [server])).description, /Ollama/);
});

void test("--model names another model of any server, with or without its tag or path", async () => {
  const servers = [await serveModels("Ollama", OLLAMA), await serveModels("llama.cpp", LLAMA_CPP)];
  assert.equal((await chooseModel("deepseek-r1:8b", {}, servers)).vars["OPENAI_MODEL"], "deepseek-r1:8b");
  assert.equal((await chooseModel("llama3.2", {}, servers)).vars["OPENAI_MODEL"], "llama3.2:latest");
  const { vars } = await chooseModel("Llama-3.2-3B-Instruct-Q4_K_M.gguf", {}, servers);
  assert.deepEqual([vars["OPENAI_BASE_URL"], vars["OPENAI_MODEL"]], [`http://127.0.0.1:${servers[1]!.port}/v1`, LLAMA_CPP_PATH]);
  await assert.rejects(
    chooseModel("gemma", {}, servers),
    (error) => error instanceof UserError && /"gemma".*llama3\.2:latest/.test(error.message),
  );
  await assert.rejects(chooseModel("gemma", {}, []), UserError);
});

void test("--model none starts without a model, and no server is requested", async () => {
  const server = await serveModels("Ollama", OLLAMA);
  const { description, vars } = await chooseModel("none", { OPENAI_BASE_URL: "https://api.example.com/v1" }, [server]);
  assert.match(description, /^none/);
  assert.deepEqual(vars, { OPENAI_BASE_URL: "", OPENAI_MODEL: "", OPENAI_EMBEDDING_MODEL: "" });
  assert.deepEqual(server.requests, []);
});

void test("the developer's configuration has precedence, and no server is requested", async () => {
  const server = await serveModels("Ollama", OLLAMA);
  const own = { OPENAI_BASE_URL: "https://ada:pass@api.example.com/v1", OPENAI_MODEL: "large", OPENAI_API_KEY: "secret" };
  const configured = await chooseModel(undefined, own, [server]);
  assert.deepEqual(configured.vars, {});
  assert.match(configured.description, /^large at api\.example\.com, as configured/);
  assert.deepEqual((await chooseModel("small", own, [server])).vars, { OPENAI_MODEL: "small" });
  assert.match((await chooseModel(undefined, { OPENAI_BASE_URL: "" }, [server])).description, /^none/);
  assert.deepEqual(server.requests, []);
});

void test("the developer's model and embedding model are used where a server that is found offers the model", async () => {
  const server = await serveModels("Ollama", OLLAMA);
  const { vars } = await chooseModel(undefined, { OPENAI_MODEL: "deepseek-r1:8b", OPENAI_EMBEDDING_MODEL: "own" }, [server]);
  assert.deepEqual([vars["OPENAI_MODEL"], vars["OPENAI_EMBEDDING_MODEL"]], ["deepseek-r1:8b", "own"]);
  assert.deepEqual((await chooseModel(undefined, { OPENAI_MODEL: "absent" }, [server])).vars, {});
});

void test("the model that is found is loaded before the first question", async () => {
  const server = await serveModels("Ollama", OLLAMA);
  await chooseModel(undefined, {}, [server]);
  while (server.requests.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual(server.requests, ["/v1/models", "/v1/chat/completions"]);
});

void test("the kind of a model is known by its name", () => {
  const chat = (...ids: string[]) => chooseChatModel(ids.map((id) => ({ id })));
  const embedding = (...ids: string[]) => chooseEmbeddingModel(ids.map((id) => ({ id })));
  for (const id of [
    "nomic-embed-text",
    "BAAI/bge-m3",
    "intfloat/multilingual-e5-large",
    "all-minilm:l6-v2",
    "thenlper/gte-large",
    "mxbai-embed-large:latest",
  ]) {
    assert.equal(embedding(id), id);
    assert.equal(chat(id), undefined);
  }
  for (const id of [
    "bge-reranker-v2-m3",
    "whisper-large-v3",
    "openai/clip-vit-base-patch32",
    "llava:7b",
    "kokoro-tts",
    "llama-guard3:8b",
  ]) {
    assert.equal(embedding(id), undefined);
    assert.equal(chat(id), undefined);
  }
  assert.equal(chat("Qwen2.5-7B", "Qwen2.5-7B-Instruct"), "Qwen2.5-7B-Instruct");
  assert.equal(chat("gemma-3-4b", "gemma-3-4b-it"), "gemma-3-4b-it");
  assert.equal(chat("llama3.2-vision:11b", "codellama:7b-code", "mistral:7b-text", "phi4:14b"), "phi4:14b");
  assert.equal(chat("qwen2.5-coder:7b"), "qwen2.5-coder:7b");
  assert.equal(chat("qwen3:8b", "llama3.2:3b"), "qwen3:8b");
});

void test("a hosted model is chosen only by its name: its server would forward the conversation", async () => {
  const hosted = ["gpt-oss:120b-cloud", "glm-4.6:cloud", "gpt-4o", "claude-sonnet-4", "gemini-2.0-flash", "o3-mini"];
  assert.equal(chooseChatModel(hosted.map((id) => ({ id }))), undefined);
  assert.equal(chooseChatModel([{ id: "mine", owned_by: "openai" }]), undefined);
  assert.equal(chooseChatModel([{ id: "gpt-oss:20b" }]), "gpt-oss:20b");
  const server = await serveModels("Ollama", list(...hosted.map((id) => ({ id }))));
  assert.deepEqual((await chooseModel(undefined, {}, [server])).vars, {});
  assert.equal((await chooseModel("glm-4.6:cloud", {}, [server])).vars["OPENAI_MODEL"], "glm-4.6:cloud");
});
