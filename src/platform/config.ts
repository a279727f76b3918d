import { MAX_DATABASES, shardMap } from "./db/shard-map.ts";
import { isRegion, type Region, REGIONS } from "./db/regions.ts";
import { memoized } from "./lru-cache.ts";
import { logProblem } from "./telemetry/log.ts";

/*
 * The service's configuration: what each variable and secret must be, and the values that the code reads. The deploy script
 * checks a configuration with it before uploading, so this file needs no Workers types.
 */

/** The variables and secrets. The generated types treat each value as a constant, and lack those that a deployment may leave out. */
interface Variables {
  readonly ENVIRONMENT?: string;
  readonly ALLOW_PRIVATE_TARGETS?: string;
  readonly OPERATOR_TOKEN?: string;
  readonly HEALTH_TOKEN?: string;
  readonly KEY_SECRET?: string;
  readonly RETIRED_KEY_SECRET?: string;
  readonly ENCRYPTION_KEY?: string;
  readonly OPENAI_BASE_URL?: string;
  readonly OPENAI_MODEL?: string;
  readonly OPENAI_MODEL_SEES_IMAGES?: string;
  readonly OPENAI_API_KEY?: string;
  readonly OPENAI_EMBEDDING_MODEL?: string;
  readonly OPENAI_EMBEDDING_DIMENSIONS?: string;
  readonly AI_GATEWAY_ID?: string;
  readonly MAIL_FROM?: string;
  readonly ACCESS_TEAM_DOMAIN?: string;
  readonly ACCESS_AUD?: string;
  readonly DNS_OVER_HTTPS_URL?: string;
  readonly CRAWL_PAUSE_MS?: string;
  readonly CLOSED_DATABASES?: string;
  readonly DATABASE_REGIONS?: string;
  readonly SHARD_MAP?: string;
  readonly GROUP_COMMIT_AFTER_MS?: string;
  readonly VECTORS_ROUND?: string;
  readonly MAX_EMBEDDED_VECTORS?: string;
  readonly RERANK_PASSAGES?: string;
  readonly ENCODE_SENTENCES?: string;
  readonly OTEL_EXPORTER_OTLP_TRACES_ENDPOINT?: string;
  readonly OTEL_EXPORTER_OTLP_HEADERS?: string;
}

/**
 * Checks a value. Returns the end of a sentence that begins with the variable's name and says what is wrong and what to do, but never the
 * value; undefined if nothing is wrong.
 */
type Check = (value: string, all: Variables) => string | undefined;

/** A shorter secret can be guessed: 32 characters are 128 bits in hex, 192 in base64. */
const MIN_SECRET_CHARACTERS = 32;
const NEW_SECRET = "Set a random one of at least 32 characters";
/** A batch takes a few milliseconds, and a trip to D1 in the same region some more. */
const DEFAULT_GROUP_COMMIT_MS = 50;
const MAX_GROUP_COMMIT_MS = 60_000;
const DEFAULT_CRAWL_PAUSE_MS = 250;
/** The longest pause. With a longer one, a site of 1,000 pages takes most of a day. */
const MAX_CRAWL_PAUSE_MS = 60_000;
/** The most dimensions that Vectorize supports. */
const MAX_DIMENSIONS = 1_536;
/** A search of this many vectors takes about 15 ms. */
const DEFAULT_EMBEDDED_VECTORS = 50_000;
/** The most vectors that an agent's object holds, with or without Vectorize. */
const MAX_EMBEDDED_VECTORS = 100_000;

/** The check of each variable and secret. One that is not set is checked as an empty text. docs/deploy-and-configure.md lists them. */
const CHECKS: Record<keyof Variables, Check> = {
  ENVIRONMENT: oneOf("development", "production"),
  ALLOW_PRIVATE_TARGETS: (value, all) => {
    if (value === "true" && isProduction(all))
      return "is true in production: outgoing requests could reach private networks. Set it to false.";
    return oneOf("true", "false")(value, all);
  },
  OPERATOR_TOKEN: optionalToken,
  HEALTH_TOKEN: optionalToken,
  KEY_SECRET: requiredSecret("API keys cannot be verified"),
  // A value that never signed a key admits no key, so any value is safe.
  RETIRED_KEY_SECRET: () => undefined,
  ENCRYPTION_KEY: requiredSecret("secrets cannot be stored"),
  OPENAI_BASE_URL: optional(
    (value) => isUrl(value, "http:", "https:"),
    "is not an http or https URL. Set it to one that ends in /v1, or leave it empty.",
  ),
  OPENAI_MODEL: (value, all) =>
    value === "" && all.OPENAI_BASE_URL && !all.OPENAI_EMBEDDING_MODEL
      ? "is not set: name a model of the server at OPENAI_BASE_URL."
      : undefined,
  OPENAI_MODEL_SEES_IMAGES: optionalFlag,
  OPENAI_API_KEY: optional(
    (value) => /^[\x21-\x7e]+$/.test(value),
    "holds characters that a header cannot carry. Set it again, without spaces or line breaks.",
  ),
  OPENAI_EMBEDDING_MODEL: (value, all) =>
    value !== "" && !all.OPENAI_BASE_URL ? "is set without OPENAI_BASE_URL. Set the server's URL, or leave both empty." : undefined,
  OPENAI_EMBEDDING_DIMENSIONS: optional(
    (value) => isWholeNumber(value, 1, MAX_DIMENSIONS),
    `is not a number from 1 to ${MAX_DIMENSIONS}. Set it to the dimensions of the Vectorize index, or leave it empty.`,
  ),
  AI_GATEWAY_ID: optional(
    (value) => /^[\w-]{1,64}$/.test(value),
    "is not the id of an AI Gateway. Copy it from the dashboard, or leave it empty.",
  ),
  MAIL_FROM: optional(
    (value) => /^[\w.+-]{1,64}@(?:[a-z0-9-]+\.)+[a-z0-9-]{2,}$/i.test(value),
    "is not an email address. Set it to one such as sign-in@example.com, whose domain can send mail, or leave it empty.",
  ),
  ACCESS_TEAM_DOMAIN: (value, all) => {
    if (value !== "" && !all.ACCESS_AUD) return "is set without ACCESS_AUD. Set the AUD tag of the application, or leave both empty.";
    return optional(
      (domain) => /^[a-z0-9-]+\.cloudflareaccess\.com$/.test(domain),
      "is not a team domain of Cloudflare Access. Set it to one such as example.cloudflareaccess.com, without https://.",
    )(value, all);
  },
  ACCESS_AUD: (value, all) => {
    if (value !== "" && !all.ACCESS_TEAM_DOMAIN) return "is set without ACCESS_TEAM_DOMAIN. Set the team domain, or leave both empty.";
    return optional(
      (tag) => /^[0-9a-f]{64}$/.test(tag),
      "is not the Application Audience (AUD) tag of an application in Cloudflare Access. Copy it from the application: 64 hexadecimal digits.",
    )(value, all);
  },
  DNS_OVER_HTTPS_URL: optional(
    (value) => isUrl(value, "https:"),
    "is not an https URL. Set it to a resolver with JSON answers, such as https://cloudflare-dns.com/dns-query, or leave it empty.",
  ),
  CRAWL_PAUSE_MS: optional(
    (value) => isWholeNumber(value, 0, MAX_CRAWL_PAUSE_MS),
    `is not a number of milliseconds from 0 to ${MAX_CRAWL_PAUSE_MS}. Set it to one, or leave it empty for ${DEFAULT_CRAWL_PAUSE_MS}.`,
  ),
  CLOSED_DATABASES: optional(
    (value) => splitList(value).every((database) => isWholeNumber(database, 0, MAX_DATABASES - 1)),
    `is not a list of databases by number, from 0 to ${MAX_DATABASES - 1}. Set it to one such as "0,2" (DB and DB_2), or leave it empty.`,
  ),
  DATABASE_REGIONS: optional(
    hasRegions,
    `is not a list of databases, each with one region of ${REGIONS.join(", ")}. Set it to one such as "0=weur, 1=enam" (DB and DB_1), or leave it empty.`,
  ),
  SHARD_MAP: optional(
    (value) => shardMap(value) !== undefined,
    'is not a list of logical shards from 0 to 255, each with one database. Set it to one such as "0-127=DB, 128-255=DB_1", or leave it empty for DB alone.',
  ),
  GROUP_COMMIT_AFTER_MS: optional(
    (value) => isWholeNumber(value, 0, MAX_GROUP_COMMIT_MS),
    `is not a number of milliseconds from 0 to ${MAX_GROUP_COMMIT_MS}. Set it to one, or leave it empty for ${DEFAULT_GROUP_COMMIT_MS}.`,
  ),
  VECTORS_ROUND: optional((value) => /^\d{1,9}$/.test(value), "is not a whole number. Increase it by one to embed everything again."),
  MAX_EMBEDDED_VECTORS: optional(
    (value) => isWholeNumber(value, 0, MAX_EMBEDDED_VECTORS),
    `is not a number from 0 to ${MAX_EMBEDDED_VECTORS}. Set it to one, or leave it empty for the default: ${DEFAULT_EMBEDDED_VECTORS}, or ${MAX_EMBEDDED_VECTORS} without Vectorize.`,
  ),
  RERANK_PASSAGES: optionalFlag,
  ENCODE_SENTENCES: optionalFlag,
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: optional(
    (value, all) => isUrl(value, "https:", ...(isProduction(all) ? [] : ["http:"])),
    "is not an https URL. Set it to the address that receives spans, such as https://otlp.example.com/v1/traces, or leave it empty.",
  ),
  OTEL_EXPORTER_OTLP_HEADERS: optional(
    (value) => splitList(value).every((header) => /^[\w-]+=(?:[\x21-\x24\x26-\x7e]|%[0-7][0-9a-f])*$/i.test(header)),
    'is not a list of headers. Set it to one such as "x-api-key=secret", and write % as %25.',
  ),
};

/** Variables that had another name, with today's name. */
const RENAMED = { SHARD_REGIONS: "DATABASE_REGIONS", CLOSED_SHARDS: "CLOSED_DATABASES" };

/** The names of all variables and secrets of the service. */
export const VARIABLE_NAMES: readonly string[] = Object.keys(CHECKS);

/** Returns a sentence for each wrong value of a configuration: the variable's name, what is wrong and what to do, but never the value. */
export function configProblems(values: object): string[] {
  const all = values as Variables;
  const renamed = Object.entries(RENAMED).filter(([name]) => Boolean(values[name as never]));
  const wrong = Object.entries(CHECKS).flatMap(([name, check]) => {
    const value: unknown = all[name as keyof Variables] ?? "";
    const problem = typeof value === "string" ? check(value, all) : "is not a text. Put its value in quotes.";
    return problem === undefined ? [] : `${name} ${problem}`;
  });
  return [...renamed.map(([name, newName]) => `${name} is called ${newName} now. Rename it.`), ...wrong];
}

const problemsByEnv = new WeakMap<object, string[]>();

/** Returns whether the configuration has no problems; otherwise they are logged. The result is kept, since every request needs it. */
export function isConfigured(env: object): boolean {
  let problems = problemsByEnv.get(env);
  if (!problems) {
    problems = configProblems(env);
    problemsByEnv.set(env, problems);
  }
  if (problems.length > 0) logProblem("misconfigured", { detail: problems.join(" ") });
  return problems.length === 0;
}

/**
 * Returns the server of the OpenAI chat completions protocol that writes the deployment's answers, with the model for agents that set none;
 * undefined if no server is configured, or only one for embeddings.
 */
export function languageServer(env: Variables) {
  const { OPENAI_BASE_URL: baseUrl, OPENAI_MODEL: model, OPENAI_API_KEY: apiKey } = env;
  if (!baseUrl || !model) return undefined;
  return { baseUrl, model, apiKey: apiKey || undefined, seesImages: env.OPENAI_MODEL_SEES_IMAGES === "true" };
}

/** Returns whether a language model writes the deployment's answers. Otherwise they quote the knowledge. */
export function hasLanguageModel(env: Variables & { readonly AI?: unknown }): boolean {
  return languageServer(env) !== undefined || env.AI !== undefined;
}

/** A model of a server of the OpenAI embeddings protocol. */
export interface EmbeddingServer {
  /** The URL with the version, such as https://api.example.com/v1. */
  baseUrl: string;
  apiKey: string | undefined;
  model: string;
  /** The length of the vectors; undefined for the model's default. */
  dimensions: number | undefined;
}

/** Returns the server that computes the deployment's embeddings; undefined if no model is configured. */
export function embeddingServer(env: Variables): EmbeddingServer | undefined {
  const { OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: apiKey } = env;
  const { OPENAI_EMBEDDING_MODEL: model, OPENAI_EMBEDDING_DIMENSIONS: dimensions } = env;
  if (!baseUrl || !model) return undefined;
  return { baseUrl, model, apiKey: apiKey || undefined, dimensions: dimensions ? Number(dimensions) : undefined };
}

/** Returns the options that route a call of Workers AI through the deployment's AI Gateway, if it has one. */
export function aiGateway({ AI_GATEWAY_ID: id }: Variables): { gateway?: { id: string } } {
  return id ? { gateway: { id } } : {};
}

/**
 * Returns the number of the embedding round. The operator increases it after recreating the Vectorize index, so that every chunk is
 * embedded again.
 */
export function vectorsRound(env: Variables): string {
  return env.VECTORS_ROUND || "1";
}

/** Returns how many vectors an agent keeps in its own object at most. An agent with more keeps them in Vectorize, if it is bound. */
export function maxEmbeddedVectors(env: Variables & { readonly VECTORS?: unknown }): number {
  if (env.MAX_EMBEDDED_VECTORS) return Number(env.MAX_EMBEDDED_VECTORS);
  return env.VECTORS ? DEFAULT_EMBEDDED_VECTORS : MAX_EMBEDDED_VECTORS;
}

/** Returns whether the service's own encoder may compute vectors where the deployment has no other embeddings. */
export function encodesSentences(env: Variables): boolean {
  return env.ENCODE_SENTENCES !== "false";
}

/** Returns whether retrieved passages are ranked again by a reranker. */
export function usesReranker(env: Variables): boolean {
  return env.RERANK_PASSAGES === "true";
}

/** Returns whether outgoing requests may use http and private hosts, for receivers on a developer's machine; always false in production. */
export function allowsPrivateTargets(env: Variables): boolean {
  return env.ALLOW_PRIVATE_TARGETS === "true" && !isProduction(env);
}

/** Returns the databases that the operator has closed to new workspaces. */
export function closedDatabases(env: Variables): ReadonlySet<number> {
  return new Set(splitList(env.CLOSED_DATABASES ?? "").map(Number));
}

/** Returns the regions of the databases that have one. */
export function databaseRegions({ DATABASE_REGIONS: text = "" }: Variables): ReadonlyMap<number, Region> {
  return regionsIn(text);
}

// The result is kept, since every call of a Durable Object needs it.
const regionsIn = memoized((text: string) => new Map(readRegions(text).map(([database, region]) => [Number(database), region as Region])));

function readRegions(text: string): (readonly [database: string, region: string])[] {
  return splitList(text).map((item) => {
    const [database = "", region = "", ...rest] = item.split("=").map((part) => part.trim());
    return [database, rest.length === 0 ? region : ""];
  });
}

function hasRegions(text: string): boolean {
  const items = readRegions(text);
  const areValid = items.every(([database, region]) => isWholeNumber(database, 0, MAX_DATABASES - 1) && isRegion(region));
  return areValid && new Set(items.map(([database]) => Number(database))).size === items.length;
}

/** Returns the time in milliseconds after which a session's batch shows that its database is busy. */
export function groupCommitAfterMs(env: Variables): number {
  return env.GROUP_COMMIT_AFTER_MS ? Number(env.GROUP_COMMIT_AFTER_MS) : DEFAULT_GROUP_COMMIT_MS;
}

/** Returns the address that the service's own mails come from; undefined if it sends none. */
export function mailSender(env: Variables): string | undefined {
  return env.MAIL_FROM || undefined;
}

/** The application of Cloudflare Access that protects the sign-in to the console. */
export interface AccessApplication {
  /** Such as example.cloudflareaccess.com. */
  teamDomain: string;
  audience: string;
}

/** Returns the deployment's application of Cloudflare Access; undefined if it has none. */
export function accessApplication({ ACCESS_TEAM_DOMAIN: teamDomain, ACCESS_AUD: audience }: Variables): AccessApplication | undefined {
  return teamDomain && audience ? { teamDomain, audience } : undefined;
}

/** Returns the URL of the DNS-over-HTTPS resolver; undefined if there is none. */
export function dnsResolver(env: Variables): string | undefined {
  return env.DNS_OVER_HTTPS_URL || undefined;
}

/** Returns the least pause between two requests to one site, in milliseconds. */
export function crawlPauseMs(env: Variables): number {
  const value = Number(env.CRAWL_PAUSE_MS || Number.NaN);
  return value >= 0 ? Math.min(value, MAX_CRAWL_PAUSE_MS) : DEFAULT_CRAWL_PAUSE_MS;
}

/**
 * Returns the values of a secret, of which there are several during a rotation. The first one signs or encrypts; all are accepted.
 * @throws Error when the secret is empty.
 */
export function secretValues(secret: string): [string, ...string[]] {
  const [current, ...previous] = optionalSecretValues(secret);
  if (current === undefined) throw new Error("A secret of the configuration is empty");
  return [current, ...previous];
}

/** Returns the secrets whose API keys are accepted. The first one signs new keys; RETIRED_KEY_SECRET only admits existing keys. */
export function apiKeySecrets(env: Variables): string[] {
  return [...secretValues(env.KEY_SECRET ?? ""), ...optionalSecretValues(env.RETIRED_KEY_SECRET ?? "")];
}

/** Where spans are sent. */
export interface SpanExporter {
  url: string;
  headers: Record<string, string>;
}

/** Returns where the spans of turns are sent; undefined if the deployment exports none. */
export function spanExporter({
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url,
  OTEL_EXPORTER_OTLP_HEADERS: headers = "",
}: Variables): SpanExporter | undefined {
  return url ? { url, headers: headersIn(headers) } : undefined;
}

/** Reads headers in the form of OpenTelemetry's variable: `name=value`, with commas between. */
const headersIn = memoized((list: string): Record<string, string> => {
  const pairs = splitList(list).map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)] as const);
  return Object.fromEntries(pairs.map(([name, value]) => [name, decodeURIComponent(value)]));
});

/** Returns the tokens that only read the health; none if the deployment has no such token. */
export function healthTokens({ HEALTH_TOKEN: tokens = "" }: Variables): readonly string[] {
  return optionalSecretValues(tokens);
}

/** Returns all values of a secret that may be empty. The result is kept, since every request needs it. */
export const optionalSecretValues = memoized(splitList);

/** The values of a comma-separated list, trimmed, without empty ones. */
function splitList(text: string): string[] {
  return text.split(",").flatMap((value) => value.trim() || []);
}

export function isProduction(env: Variables): boolean {
  return env.ENVIRONMENT === "production";
}

function oneOf(...values: string[]): Check {
  return (value) => (values.includes(value) ? undefined : `is neither ${values.join(" nor ")}. Set it to one of the two.`);
}

/** Accepts an empty text, and what the test accepts. */
function optional(test: (value: string, all: Variables) => boolean, problem: string): Check {
  return (value, all) => (value === "" || test(value, all) ? undefined : problem);
}

/** Accepts true, false and an empty text. */
function optionalFlag(value: string, all: Variables): string | undefined {
  return value === "" ? undefined : oneOf("true", "false")(value, all);
}

/** Checks the length of every value, each of which is accepted. */
function optionalToken(value: string, all: Variables): string | undefined {
  const short = isProduction(all) && splitList(value).some(isShort);
  return short ? `holds a value that is too short to be safe in production. ${NEW_SECRET}: \`wrangler secret put\`.` : undefined;
}

/** Checks the length of the first value only: the others sign or encrypt nothing new, and may be old and short. */
function requiredSecret(consequence: string): Check {
  return (value, all) => {
    const [current] = splitList(value);
    if (current === undefined) return `is not set: ${consequence}. ${NEW_SECRET}: \`wrangler secret put\`.`;
    const short = isProduction(all) && isShort(current);
    return short ? `is too short to be safe in production. ${NEW_SECRET} before it, with a comma between.` : undefined;
  };
}

function isShort(secret: string): boolean {
  return secret.length < MIN_SECRET_CHARACTERS;
}

function isUrl(value: string, ...protocols: string[]): boolean {
  return URL.canParse(value) && protocols.includes(new URL(value).protocol);
}

function isWholeNumber(value: string, min: number, max: number): boolean {
  return /^\d{1,9}$/.test(value) && Number(value) >= min && Number(value) <= max;
}
