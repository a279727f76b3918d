import { MAX_SHARDS } from "./db/ids.ts";

/** As politely as a person who reads quickly. */
const DEFAULT_CRAWL_PAUSE_MS = 250;
const MAX_CRAWL_PAUSE_MS = 60_000;

/**
 * What of the configuration keeps the service from working safely, as a sentence for the log that names the variable;
 * undefined when all is well.
 */
export function configProblem(env: Env): string | undefined {
  if (isEmpty(env.KEY_SECRET)) return "KEY_SECRET is not set: API keys cannot be checked. Set it with `wrangler secret put KEY_SECRET`.";
  if (isEmpty(env.ENCRYPTION_KEY))
    return "ENCRYPTION_KEY is not set: secrets cannot be stored. Set it with `wrangler secret put ENCRYPTION_KEY`.";
  if (isProduction(env) && (env.ALLOW_PRIVATE_TARGETS as string) === "true") {
    return "ALLOW_PRIVATE_TARGETS is true in production: outgoing requests could reach the inside of a network. Set it to false.";
  }
  return closedShardsProblem(env) ?? languageServerProblem(env) ?? embeddingServerProblem(env);
}

/** The shards that take no new workspaces, by the operator's word. */
export function closedShards(env: Env): ReadonlySet<number> {
  return new Set(valuesOf((env.CLOSED_SHARDS as string | undefined) ?? "").map(Number));
}

function closedShardsProblem(env: Env): string | undefined {
  const isShard = (shard: number) => Number.isInteger(shard) && shard >= 0 && shard < MAX_SHARDS;
  if ([...closedShards(env)].every(isShard)) return undefined;
  return 'CLOSED_SHARDS is not a list of shards. Set it to numbers such as "0,2" (0 is DB, 2 is DB_2), or leave it empty.';
}

/** A server that speaks the OpenAI protocol of chat completions. */
export interface LanguageServer {
  /** Up to and with the version, such as https://api.example.com/v1. */
  baseUrl: string;
  apiKey: string | undefined;
  /** Where an agent names none of its own. */
  model: string;
}

/** The server that the deployment has its answers written by; undefined where it names none. */
export function languageServer(env: Env): LanguageServer | undefined {
  const { OPENAI_BASE_URL: baseUrl, OPENAI_MODEL: model, OPENAI_API_KEY: apiKey } = variablesOf(env);
  if (!baseUrl) return undefined;
  return { baseUrl, model: model ?? "", apiKey: apiKey || undefined };
}

function languageServerProblem(env: Env): string | undefined {
  const server = languageServer(env);
  if (!server) return undefined;
  const protocol = URL.canParse(server.baseUrl) ? new URL(server.baseUrl).protocol : "";
  if (protocol !== "https:" && protocol !== "http:")
    return "OPENAI_BASE_URL is not an http or https URL. Set it to one that ends in /v1, or leave it empty.";
  if (server.model === "") return "OPENAI_MODEL is not set: name a model of the server at OPENAI_BASE_URL.";
  return undefined;
}

/** A model of a server that speaks the OpenAI protocol of embeddings. */
export interface EmbeddingServer {
  /** Up to and with the version, such as https://api.example.com/v1. */
  baseUrl: string;
  apiKey: string | undefined;
  model: string;
  /** The length that vectors are asked for; undefined: the model's own. */
  dimensions: number | undefined;
}

/** The server that makes the deployment's vectors; undefined where it names no model of one. */
export function embeddingServer(env: Env): EmbeddingServer | undefined {
  const { OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: apiKey, ...own } = variablesOf(env);
  const { OPENAI_EMBEDDING_MODEL: model, OPENAI_EMBEDDING_DIMENSIONS: dimensions } = own;
  if (!baseUrl || !model) return undefined;
  return { baseUrl, model, apiKey: apiKey || undefined, dimensions: dimensions ? Number(dimensions) : undefined };
}

/** Vectorize takes no longer vectors. */
const MAX_DIMENSIONS = 1_536;

function embeddingServerProblem(env: Env): string | undefined {
  const { OPENAI_BASE_URL: baseUrl, OPENAI_EMBEDDING_MODEL: model, OPENAI_EMBEDDING_DIMENSIONS: dimensions } = variablesOf(env);
  if (model && !baseUrl) return "OPENAI_EMBEDDING_MODEL is set without OPENAI_BASE_URL. Set the server's URL, or leave both empty.";
  if (dimensions && !(/^\d{1,4}$/.test(dimensions) && Number(dimensions) > 0 && Number(dimensions) <= MAX_DIMENSIONS)) {
    return `OPENAI_EMBEDDING_DIMENSIONS is no number from 1 to ${MAX_DIMENSIONS}. Set it to that of the Vectorize index, or leave it empty.`;
  }
  return undefined;
}

/** What has Workers AI called through the deployment's AI Gateway, where it has one. */
export function aiGateway(env: Env): { gateway?: { id: string } } {
  const { AI_GATEWAY_ID: id } = variablesOf(env);
  return id ? { gateway: { id } } : {};
}

/** Raised by the operator after the index of vectors was made anew, so that every chunk is embedded again. */
export function vectorsRound(env: Env): string {
  return variablesOf(env)["VECTORS_ROUND"] || "1";
}

/** Whether passages are read once more by a reranker. */
export function reranksPassages(env: Env): boolean {
  return variablesOf(env)["RERANK_PASSAGES"] === "true";
}

/** Not every deployment has all variables: the generated types do not know those that may be absent. */
function variablesOf(env: Env): Partial<Record<string, string>> {
  return env as unknown as Partial<Record<string, string>>;
}

/** Whether outgoing requests may reach http and private hosts: for receivers on a laptop, never in production. */
export function allowsPrivateTargets(env: Env): boolean {
  return (env.ALLOW_PRIVATE_TARGETS as string) === "true" && !isProduction(env);
}

/** Where host names are asked for over HTTPS; undefined where they cannot be asked for. */
export function dnsResolver(env: Env): string | undefined {
  return env.DNS_OVER_HTTPS_URL || undefined;
}

/** The least pause between two requests to one site, in milliseconds; nothing sensible in the variable is the default. */
export function crawlPauseMs(env: Env): number {
  const value = Number((env.CRAWL_PAUSE_MS as string | undefined) || Number.NaN);
  return value >= 0 ? Math.min(value, MAX_CRAWL_PAUSE_MS) : DEFAULT_CRAWL_PAUSE_MS;
}

function isProduction(env: Env): boolean {
  return (env.ENVIRONMENT as string) === "production";
}

/**
 * The values of a secret that may be under rotation: the first is used for what is new, all are accepted.
 * @throws Error when it holds none.
 */
export function rotating(secret: string): [string, ...string[]] {
  const [current, ...previous] = valuesOf(secret);
  if (current === undefined) throw new Error("A secret of the configuration is empty");
  return [current, ...previous];
}

/** Unset, whatever its type says, or without any value in it. */
function isEmpty(secret: string | undefined): boolean {
  return valuesOf(secret ?? "").length === 0;
}

const valuesBySecret = new Map<string, string[]>();

/** All values that a secret holds. Each request asks, so what was read is kept in the isolate. */
export function valuesOf(secret: string): string[] {
  let values = valuesBySecret.get(secret);
  if (!values) {
    values = secret.split(",").flatMap((value) => value.trim() || []);
    valuesBySecret.set(secret, values);
  }
  return values;
}
