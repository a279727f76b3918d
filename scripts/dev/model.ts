/*
 * Finds a language model on this machine, so that `npm run dev` answers with one where there is one. Only servers on the loopback
 * address are requested, and no model is chosen that its server would forward elsewhere.
 */
import { basename } from "node:path";
import { UserError } from "../shared/cli.ts";

const HOST = "127.0.0.1";
const TRIES = 2;
const TRY_MS = 300;
const WARM_UP_MS = 120_000;

interface Server {
  name: string;
  port: number;
}

/** The usual servers of the OpenAI protocol with their default ports, in the order of preference. */
const SERVERS: readonly Server[] = [
  { name: "Ollama", port: 11434 },
  { name: "LM Studio", port: 1234 },
  { name: "llama.cpp", port: 8080 },
  { name: "vLLM", port: 8000 },
];

/** The model that `npm run dev` answers with. */
export interface ModelChoice {
  /** For the banner. */
  description: string;
  /** The variables to start the service with. */
  vars: Record<string, string>;
}

/** A model in a server's list. */
interface ListedModel {
  id: string;
  owned_by?: unknown;
}

const EMBEDS = /embed|nomic|minilm|(?<![a-z])(?:bge|e5|gte)(?![a-z\d])/i;
/** Models that neither write text nor embed it. */
const OTHER_KIND =
  /rerank|whisper|speech|audio|(?<![a-z])(?:tts|asr|ocr|clip|siglip|llava|bakllava|moondream|sdxl|flux)(?![a-z])|diffusion|guard(?![a-z])/i;
/** Hosted models, to which a server on this machine would forward the conversation. */
const HOSTED = /[:-]cloud$|^(?:gpt-\d|chatgpt|o\d(?:-|$)|claude|gemini|grok)/i;
const HOSTED_OWNERS = new Set<unknown>(["openai", "anthropic", "google"]);
/** Names of models that follow instructions; Ollama puts a variant after a colon, and all its chat models do. */
const FOLLOWS_INSTRUCTIONS = /instruct|chat|[-_:.]it(?![a-z])|:/i;
/** Models that complete text, write code, look at pictures, or think for long before they answer. */
const LESS_SUITED = /(?<![a-z])(?:base|text|code|coder|codellama|starcoder|fim|math|vl|vision|r1|qwq)(?![a-z])|think|reason/i;

const NONE = "none: answers are sentences of the knowledge";
const NO_MODEL = { OPENAI_BASE_URL: "", OPENAI_MODEL: "", OPENAI_EMBEDDING_MODEL: "" };

/**
 * Chooses the model: the one that was asked for, else the configured one, else one that a server on this machine offers.
 * @param wanted a model's name, or "none".
 * @param configured the developer's own variables; an empty OPENAI_BASE_URL among them means none.
 * @throws UserError where no server offers the model that was asked for.
 */
export async function chooseModel(wanted: string | undefined, configured: NodeJS.Dict<string>, servers = SERVERS): Promise<ModelChoice> {
  if (wanted === "none") return { description: NONE, vars: NO_MODEL };
  const { OPENAI_BASE_URL: baseUrl, OPENAI_MODEL: model, OPENAI_EMBEDDING_MODEL: embedding } = configured;
  if (baseUrl) {
    const description = `${wanted ?? (model || "OPENAI_MODEL")} at ${hostOf(baseUrl)}, as configured`;
    return { description, vars: wanted === undefined ? {} : { OPENAI_MODEL: wanted } };
  }
  if (baseUrl === "" && wanted === undefined) return { description: `${NONE} (OPENAI_BASE_URL is empty)`, vars: NO_MODEL };
  const name = wanted ?? (model || undefined);
  const found = await Promise.all(servers.map(async (server) => ({ server, models: await listModels(server) })));
  for (const { server, models } of found) {
    const chat = name === undefined ? chooseChatModel(models) : findNamed(models, name);
    if (chat === undefined) continue;
    void warmUp(server, chat);
    return describe(server, chat, embedding || chooseEmbeddingModel(models));
  }
  if (wanted === undefined) return { description: `${NONE} (a local Ollama, LM Studio, llama.cpp or vLLM would be used)`, vars: {} };
  const offered = found.flatMap(({ models }) => models.map(({ id }) => id));
  throw new UserError(
    offered.length === 0
      ? `No server of the OpenAI protocol was found on this machine, so there is no model "${wanted}".`
      : `No server on this machine offers the model "${wanted}". There are: ${offered.join(", ")}.`,
  );
}

/** The host of a URL, without a user's name and password. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "OPENAI_BASE_URL";
}

/** The choice of a server's models. The key of another server, which the developer may have configured, is not sent to it. */
function describe(server: Server, chat: string, embedding = ""): ModelChoice {
  const models = [chat, embedding].filter((model) => model !== "").map(shownName);
  const description = `${models.join(" and ")} of ${server.name} on this machine; another: npm run dev -- --model NAME, none: -- --model none`;
  const vars = { OPENAI_BASE_URL: baseUrlOf(server), OPENAI_MODEL: chat, OPENAI_EMBEDDING_MODEL: embedding, OPENAI_API_KEY: "" };
  return { description, vars };
}

/** Makes the server load the model, which may take longer than a visitor waits. Failures show with the first question. */
async function warmUp(server: Server, model: string): Promise<void> {
  const body = JSON.stringify({ model, messages: [{ role: "user", content: "Hello" }], max_tokens: 1 });
  const init: RequestInit = { method: "POST", headers: { "Content-Type": "application/json" }, body, redirect: "error" };
  await fetch(`${baseUrlOf(server)}/chat/completions`, { ...init, signal: AbortSignal.timeout(WARM_UP_MS) })
    .then((response) => response.text())
    .catch(() => undefined);
}

/** A model's name to show: llama.cpp names its model by the path of the file. */
function shownName(model: string): string {
  return model.endsWith(".gguf") ? basename(model) : model;
}

/** @returns the id of the chat model to use; undefined if the server offers none. */
export function chooseChatModel(models: readonly ListedModel[]): string | undefined {
  const usable = models.filter((model) => !isHosted(model) && !OTHER_KIND.test(nameOf(model)) && !EMBEDS.test(nameOf(model)));
  return usable.toSorted((a, b) => suitability(b) - suitability(a))[0]?.id;
}

/** @returns the id of the embedding model to use; undefined if the server offers none. */
export function chooseEmbeddingModel(models: readonly ListedModel[]): string | undefined {
  return models.find((model) => !isHosted(model) && !OTHER_KIND.test(nameOf(model)) && EMBEDS.test(nameOf(model)))?.id;
}

function suitability(model: ListedModel): number {
  const name = nameOf(model);
  return (FOLLOWS_INSTRUCTIONS.test(name) ? 1 : 0) - (LESS_SUITED.test(name) ? 2 : 0);
}

function isHosted(model: ListedModel): boolean {
  return HOSTED.test(nameOf(model)) || HOSTED_OWNERS.has(model.owned_by);
}

/** Returns the name without the folders or the publisher, because these may contain any of the words above. */
function nameOf({ id }: ListedModel): string {
  return basename(id);
}

/** Ollama calls `llama3.2:latest` plainly `llama3.2`. */
function findNamed(models: readonly ListedModel[], wanted: string): string | undefined {
  return models.find(({ id }) => [id, id.replace(/:latest$/, ""), shownName(id)].includes(wanted))?.id;
}

/** The models that a server lists; none if nothing answers in time, or something else than such a server. */
async function listModels(server: Server): Promise<ListedModel[]> {
  for (let tries = 0; tries < TRIES; tries++) {
    const answer = await fetch(`${baseUrlOf(server)}/models`, { redirect: "error", signal: AbortSignal.timeout(TRY_MS) })
      .then(async (response) => ({ body: response.ok ? ((await response.json()) as { data?: unknown } | null) : null }))
      .catch(() => undefined);
    const data = answer?.body?.data;
    if (answer) return Array.isArray(data) ? data.filter((model: Partial<ListedModel> | null) => typeof model?.id === "string") : [];
  }
  return [];
}

function baseUrlOf({ port }: Server): string {
  return `http://${HOST}:${port}/v1`;
}
