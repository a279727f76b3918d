const TEXT_TYPE = /^(?:text\/[\w.+-]+|application\/(?:[\w.+-]+\+)?(?:json|xml))$/i;
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json$/i;
const CHARSET = /;\s*charset="?([\w-]+)/i;
/** A JSON text's strings, kept as they are, and the blanks between its parts. */
const STRING_OR_BLANKS = /("(?:[^"\\]|\\.)*")|\s+/g;

/**
 * What an answer says, as text: JSON, XML, HTML and plain text as sent, JSON without its layout. Undefined for anything
 * else, and for what only claims to be text.
 */
export function textOfBody(contentType: string | null, body: Uint8Array): string | undefined {
  const type = contentType?.split(";")[0]?.trim() ?? "text/plain";
  if (body.length === 0) return "";
  if (!TEXT_TYPE.test(type)) return undefined;
  const text = decoded(body, CHARSET.exec(contentType ?? "")?.[1] ?? "utf-8")?.trim();
  if (text === undefined || text.includes("\0")) return undefined;
  // Not parsed and written anew: that would change long numbers.
  return JSON_TYPE.test(type) && isJson(text) ? text.replaceAll(STRING_OR_BLANKS, (_, string?: string) => string ?? "") : text;
}

function decoded(body: Uint8Array, charset: string): string | undefined {
  try {
    // What was cut may end within a character.
    return new TextDecoder(charset).decode(body, { stream: true });
  } catch {
    return undefined;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
