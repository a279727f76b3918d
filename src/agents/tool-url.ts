import type { ToolParameters } from "../platform/db/columns.ts";
import { isVariable, variableProblem } from "./tool-variables.ts";

/** The types of parameters that a URL can hold. */
const SCALAR_TYPES = new Set<unknown>(["string", "number", "integer", "boolean"]);

/** An expression of RFC 6570, level 1: one name in braces. */
const EXPRESSION = /\{([^{}]*)\}/g;
const PARAMETER_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;
/** A value in a path stays within one segment: servers disagree on how to read an escaped slash. */
const UNSAFE_IN_PATH = /[/\\\p{Cc}\p{Cs}]/u;
/** Reserved by RFC 3986, and not encoded by `encodeURIComponent`. */
const RESERVED = /[!'()*]/g;
/** The length that servers usually accept. */
const MAX_URL_LENGTH = 8_000;

export function placeholdersOf(template: string): string[] {
  return [...new Set([...template.matchAll(EXPRESSION)].map(([, name]) => name!))];
}

/** The URL with a letter in place of each placeholder, for checks of its scheme and host. */
export function sampleUrl(template: string): string {
  return template.replaceAll(EXPRESSION, "x");
}

/** Why the placeholders of a template are not safe, as a clause of an error message; undefined if they are. */
export function templateProblem(template: string, { properties, required = [] }: ToolParameters): string | undefined {
  const problem = variableProblem(template);
  if (problem !== undefined) return problem;
  const names = placeholdersOf(template).filter((name) => !isVariable(name));
  if (/[{}]/.test(template.replaceAll(EXPRESSION, "")) || !names.every((name) => PARAMETER_NAME.test(name)))
    return "write each placeholder as one name in braces, such as {order_id}";
  if (/[{}]/.test(ORIGIN.exec(template)?.[0] ?? "{")) return "use placeholders only in its path and query";
  if (template.includes("#")) return "leave out the part after #, which is never sent to a server";
  const unknown = names.find((name) => !required.includes(name) || !SCALAR_TYPES.has(properties[name]?.type));
  if (unknown !== undefined)
    return `{${unknown}} is not a required parameter of type string, number, integer or boolean. Parameters without a placeholder are sent in the query or body`;
  const sample = sampleUrl(template);
  if (!isNormalized(sample)) return "write its path and query percent-encoded, without . and .. segments";
  return undefined;
}

/**
 * Fills in a template, and percent-encodes every character of a value that RFC 3986 does not call unreserved.
 * @returns the URL, or a sentence that says which value is not allowed.
 */
export function expandUrl(template: string, values: Record<string, unknown>): { url: string } | { problem: string } {
  const queryAt = template.indexOf("?");
  const pathEnd = queryAt < 0 ? template.length : queryAt;
  let problem: string | undefined;
  const url = template.replaceAll(EXPRESSION, (_, name: string, at: number) => {
    const value = String(values[name]);
    if (at < pathEnd && (value === "" || UNSAFE_IN_PATH.test(value)))
      problem ??= `The value of ${name} is empty, or contains a slash or a control character.`;
    return encodeValue(value);
  });
  if (problem === undefined && !isNormalized(url)) problem = "A value is . or .., which would change the path.";
  if (problem === undefined && url.length > MAX_URL_LENGTH) problem = "The values are too long.";
  return problem === undefined ? { url } : { problem };
}

/** Adds parameters to a URL's query. A list becomes one parameter for each item, and objects are written as JSON. */
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
  return encoded.replaceAll(RESERVED, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Whether a URL parser leaves the path and query of a URL unchanged, without resolving, removing or encoding anything. */
function isNormalized(url: string): boolean {
  const written = url.slice(ORIGIN.exec(url)?.[0].length ?? 0);
  if (!URL.canParse(url)) return false;
  const { pathname, search } = new URL(url);
  return pathname + search === (written.startsWith("/") ? written : `/${written}`);
}
