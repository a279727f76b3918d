import type { ToolParameters } from "../platform/db/columns.ts";

/** What an argument may be that stands in a URL. */
const SCALAR_TYPES = new Set<unknown>(["string", "number", "integer", "boolean"]);

/** An expression of RFC 6570, level 1: one name in braces. */
const EXPRESSION = /\{([^{}]*)\}/g;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;
/** In a path a value is one segment, or a part of one: servers differ in what they make of an escaped slash. */
const UNSAFE_IN_PATH = /[/\\\p{Cc}\p{Cs}]/u;
/** What `encodeURIComponent` leaves and RFC 3986 reserves. */
const RESERVED_LEFT = /[!'()*]/g;
/** What servers take at least, as a rule. */
const MAX_URL_LENGTH = 8_000;

/** The names in a template's placeholders, each once. */
export function placeholdersOf(template: string): string[] {
  return [...new Set([...template.matchAll(EXPRESSION)].map(([, name]) => name!))];
}

/** The URL with a letter for each placeholder: what its host and scheme are judged by. */
export function sampleOf(template: string): string {
  return template.replaceAll(EXPRESSION, "x");
}

/** Why a template cannot be filled in safely, as a clause for a message; undefined when it can. Its host is judged apart, by `sampleOf`. */
export function templateProblem(template: string, { properties, required = [] }: ToolParameters): string | undefined {
  const names = placeholdersOf(template);
  if (/[{}]/.test(template.replaceAll(EXPRESSION, "")) || !names.every((name) => VARIABLE.test(name)))
    return "write each placeholder as one name in braces, such as {order_id}";
  if (/[{}]/.test(ORIGIN.exec(template)?.[0] ?? "{")) return "placeholders stand in its path and query alone";
  if (template.includes("#")) return "leave out the part after #, which no server is sent";
  const unknown = names.find((name) => !required.includes(name) || !SCALAR_TYPES.has(properties[name]?.type));
  if (unknown !== undefined)
    return `{${unknown}} is no parameter that is required, and of type string, number, integer or boolean. Others are sent beside the URL by themselves`;
  const sample = sampleOf(template);
  if (!isKept(sample)) return "write its path and query as they are requested: percent-encoded, without . and .. segments";
  return undefined;
}

/**
 * Fills in a template: every character of a value that is not unreserved is percent-encoded.
 * @returns the URL, or a sentence that says which value cannot stand there.
 */
export function expandUrl(template: string, values: Record<string, unknown>): { url: string } | { problem: string } {
  const queryAt = template.indexOf("?");
  const pathEnd = queryAt < 0 ? template.length : queryAt;
  let problem: string | undefined;
  const url = template.replaceAll(EXPRESSION, (_, name: string, at: number) => {
    const value = String(values[name]);
    if (at < pathEnd && (value === "" || UNSAFE_IN_PATH.test(value)))
      problem ??= `The value of ${name} is empty, or holds a slash or a control character.`;
    return encodeValue(value);
  });
  if (problem === undefined && !isKept(url)) problem = "A value is . or .., which would lead to another place.";
  if (problem === undefined && url.length > MAX_URL_LENGTH) problem = "The values are too long.";
  return problem === undefined ? { url } : { problem };
}

/** Adds parameters to a URL's query; a list repeats its name, and other structures are written as JSON. */
export function withQuery(url: string, parameters: Record<string, unknown>): string {
  const pairs = Object.entries(parameters).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).filter((one) => one !== null && one !== undefined).map((one) => [name, textOf(one)] as const),
  );
  const query = pairs.map(([name, value]) => `${encodeValue(name)}=${encodeValue(value)}`).join("&");
  return query === "" ? url : `${url}${url.includes("?") ? "&" : "?"}${query}`;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function encodeValue(value: string): string {
  const encoded = encodeURIComponent(value.toWellFormed());
  return encoded.replaceAll(RESERVED_LEFT, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Whether a URL is requested as it is written: nothing of its path and query is resolved, dropped or encoded on the way. */
function isKept(url: string): boolean {
  const written = url.slice(ORIGIN.exec(url)?.[0].length ?? 0);
  if (!URL.canParse(url)) return false;
  const { pathname, search } = new URL(url);
  return pathname + search === (written.startsWith("/") ? written : `/${written}`);
}
