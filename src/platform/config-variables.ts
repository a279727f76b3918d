import { MAX_SHARDS } from "./db/shard-fault.ts";

/** The configuration as it comes, by name: variables and secrets; bindings of other kinds may stand among them. */
export type Variables = Readonly<Record<string, unknown>>;

/** What is wrong with a value and what to do, as the end of a sentence that begins with the variable's name; never the value. */
type Check = (value: string, all: Variables) => string | undefined;

/** Shorter ones can be tried out: 32 characters are 128 bits of hex, 192 of base64. */
const MIN_SECRET_CHARACTERS = 32;
/** A pause that long already reads a site of 1,000 pages in most of a day. */
export const MAX_CRAWL_PAUSE_MS = 60_000;
/** Vectorize takes no longer vectors. */
const MAX_DIMENSIONS = 1_536;
const NEW_SECRET = "Set a random one of at least 32 characters";

/**
 * Every variable and secret of the service with what its value must be. One that is left out is checked as an empty text.
 * docs/deploy-and-configure.md says what each is for.
 */
const CHECKS: Readonly<Record<string, Check>> = {
  ENVIRONMENT: oneOf("development", "production"),
  ALLOW_PRIVATE_TARGETS: (value, all) => {
    if (value === "true" && isProduction(all))
      return "is true in production: outgoing requests could reach the inside of a network. Set it to false.";
    return oneOf("true", "false")(value, all);
  },
  OPERATOR_TOKEN: (value, all) => {
    const short = isProduction(all) && listOf(value).some(isShort);
    return short ? `holds a value that is too short to be safe in production. ${NEW_SECRET}: \`wrangler secret put\`.` : undefined;
  },
  KEY_SECRET: secretFor("API keys cannot be checked"),
  // Whatever it holds, it vouches for nothing: a value that is no former one lets nobody in.
  RETIRED_KEY_SECRET: () => undefined,
  ENCRYPTION_KEY: secretFor("secrets cannot be stored"),
  OPENAI_BASE_URL: (value) =>
    value === "" || isUrl(value, "http:", "https:")
      ? undefined
      : "is not an http or https URL. Set it to one that ends in /v1, or leave it empty.",
  OPENAI_MODEL: (value, all) =>
    value === "" && isSet(all, "OPENAI_BASE_URL") ? "is not set: name a model of the server at OPENAI_BASE_URL." : undefined,
  OPENAI_API_KEY: (value) =>
    /^[\x21-\x7e]*$/.test(value) ? undefined : "holds blanks or characters that no header takes. Set it again, without line breaks.",
  OPENAI_EMBEDDING_MODEL: (value, all) =>
    value !== "" && !isSet(all, "OPENAI_BASE_URL")
      ? "is set without OPENAI_BASE_URL. Set the server's URL, or leave both empty."
      : undefined,
  OPENAI_EMBEDDING_DIMENSIONS: (value) =>
    value === "" || isWholeNumber(value, 1, MAX_DIMENSIONS)
      ? undefined
      : `is no number from 1 to ${MAX_DIMENSIONS}. Set it to that of the Vectorize index, or leave it empty.`,
  AI_GATEWAY_ID: (value) =>
    /^[\w-]{0,64}$/.test(value) ? undefined : "is not the id of an AI Gateway. Copy it from the dashboard, or leave it empty.",
  DNS_OVER_HTTPS_URL: (value) =>
    value === "" || isUrl(value, "https:")
      ? undefined
      : "is not an https URL. Set it to a resolver with JSON answers, such as https://cloudflare-dns.com/dns-query, or leave it empty.",
  CRAWL_PAUSE_MS: (value) =>
    value === "" || isWholeNumber(value, 0, MAX_CRAWL_PAUSE_MS)
      ? undefined
      : `is no number of milliseconds from 0 to ${MAX_CRAWL_PAUSE_MS}. Set it to one, or leave it empty for 250.`,
  CLOSED_SHARDS: (value) =>
    listOf(value).every((shard) => isWholeNumber(shard, 0, MAX_SHARDS - 1))
      ? undefined
      : `is no list of databases by number, from 0 to ${MAX_SHARDS - 1}. Set it to one such as "0,2" (DB and DB_2), or leave it empty.`,
  VECTORS_ROUND: (value) =>
    /^\d{0,9}$/.test(value) ? undefined : "is not a whole number. Raise it by one after the Vectorize index was made anew.",
  RERANK_PASSAGES: (value, all) => (value === "" ? undefined : oneOf("true", "false")(value, all)),
};

/** The names of all variables and secrets that the service knows. */
export const VARIABLE_NAMES: readonly string[] = Object.keys(CHECKS);

/** What keeps the service from working safely: a sentence for each wrong value, with its name and what to do, never its value. */
export function configProblems(all: Variables): string[] {
  return Object.entries(CHECKS).flatMap(([name, check]) => {
    const value = all[name] ?? "";
    const problem = typeof value === "string" ? check(value, all) : "is not a text. Put its value between quotes.";
    return problem === undefined ? [] : `${name} ${problem}`;
  });
}

/** The values of a list with commas, without blanks around and without empty ones. */
export function listOf(value: string): string[] {
  return value.split(",").flatMap((one) => one.trim() || []);
}

/** Whether the deployment is one for customers. */
export function isProduction(all: Variables): boolean {
  return all["ENVIRONMENT"] === "production";
}

function oneOf(...values: string[]): Check {
  return (value) => (values.includes(value) ? undefined : `is neither ${values.join(" nor ")}. Set it to one of the two.`);
}

/** A secret that the service cannot do without. Only what is new is made with the first value: those behind it may be old and short. */
function secretFor(lost: string): Check {
  return (value, all) => {
    const [current] = listOf(value);
    if (current === undefined) return `is not set: ${lost}. ${NEW_SECRET}: \`wrangler secret put\`.`;
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

function isWholeNumber(value: string, least: number, most: number): boolean {
  return /^\d{1,9}$/.test(value) && Number(value) >= least && Number(value) <= most;
}

function isSet(all: Variables, name: string): boolean {
  return all[name] !== undefined && all[name] !== "";
}
