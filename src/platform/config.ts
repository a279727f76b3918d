import { configProblems, isProduction, listOf, MAX_CRAWL_PAUSE_MS } from "./config-variables.ts";
import { logProblem } from "./telemetry/log.ts";

/** As politely as a person who reads quickly. */
const DEFAULT_CRAWL_PAUSE_MS = 250;

const problems = new WeakMap<Env, string>();

/**
 * What of the configuration keeps the service from working safely, as sentences for the log that name the variables;
 * undefined when all is well. Each request asks, so what was found is kept in the isolate.
 */
export function configProblem(env: Env): string | undefined {
  let problem = problems.get(env);
  if (problem === undefined) {
    problem = configProblems(variablesOf(env)).join(" ");
    problems.set(env, problem);
  }
  return problem || undefined;
}

/** Whether the service may work at all; where not, the log names what is wrong and what to do. */
export function isConfigured(env: Env): boolean {
  const problem = configProblem(env);
  if (problem !== undefined) logProblem("misconfigured", { detail: problem });
  return problem === undefined;
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
export function usesReranker(env: Env): boolean {
  return variablesOf(env)["RERANK_PASSAGES"] === "true";
}

/** Not every deployment has all variables: the generated types do not know those that may be absent. */
function variablesOf(env: Env): Partial<Record<string, string>> {
  return env as unknown as Partial<Record<string, string>>;
}

/** Whether outgoing requests may reach http and private hosts: for receivers on a laptop, never in production. */
export function allowsPrivateTargets(env: Env): boolean {
  return (env.ALLOW_PRIVATE_TARGETS as string) === "true" && !isProduction(variablesOf(env));
}

/** The shards that take no new workspaces, by the operator's word. */
export function closedShards(env: Env): ReadonlySet<number> {
  return new Set(listOf(variablesOf(env)["CLOSED_SHARDS"] ?? "").map(Number));
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

/**
 * The values of a secret that may be under rotation: the first is used for what is new, all are accepted.
 * @throws Error when it holds none.
 */
export function secretValues(secret: string): [string, ...string[]] {
  const [current, ...previous] = optionalSecretValues(secret);
  if (current === undefined) throw new Error("A secret of the configuration is empty");
  return [current, ...previous];
}

/**
 * The values whose API keys are let through to their workspace's gate, the one for new keys first: those of KEY_SECRET, and
 * of RETIRED_KEY_SECRET, which vouch for nothing else. The gate knows each key, so that a value that leaked does no harm there.
 */
export function apiKeySecrets(env: Env): string[] {
  const { RETIRED_KEY_SECRET: retired } = variablesOf(env);
  return [...secretValues(env.KEY_SECRET), ...optionalSecretValues(retired ?? "")];
}

const valuesBySecret = new Map<string, string[]>();

/** All values that a secret holds. Each request asks, so what was read is kept in the isolate. */
export function optionalSecretValues(secret: string): string[] {
  let values = valuesBySecret.get(secret);
  if (!values) {
    values = listOf(secret);
    valuesBySecret.set(secret, values);
  }
  return values;
}
