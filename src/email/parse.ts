import PostalMime, { addressParser, type Email } from "postal-mime";

/** Deeper mails are made to break parsers. */
const PARSER_LIMITS = {
  maxNestingDepth: 20,
  maxHeadersSize: 256 * 1024,
  maxRfc822NestingDepth: 1,
  attachmentEncoding: "arraybuffer",
} as const;
/** The largest mail that is taken has 135,000 lines of base64; the parser spends its time by the line. */
const MAX_LINES = 150_000;
/** Lines that may begin a part, and code or a table that is pasted; each part costs the parser 2 KB, however small it is. */
const MAX_DASHED_LINES = 10_000;

const LINE_FEED = 0x0a;
const DASH = 0x2d;

/** Reads a mail; undefined where it cannot be read, or is made to keep a parser busy. */
export async function parseMail(raw: ReadableStream<Uint8Array>): Promise<Email | undefined> {
  const bytes = new Uint8Array(await new Response(raw).arrayBuffer());
  if (isTooLaborious(bytes)) return undefined;
  try {
    return await PostalMime.parse(bytes, PARSER_LIMITS);
  } catch {
    return undefined;
  }
}

/**
 * Whether a mail says by one address who wrote it. Where it names several, the sender's server and we could each take
 * another for its author, and nobody would have vouched for ours.
 */
export function hasOneAuthor({ headers }: Email): boolean {
  const authors = headers.filter(({ key }) => key === "from").flatMap(({ value }) => addressParser(value));
  return authors.length === 1 && authors[0]!.address !== undefined;
}

/** Whether a mail has more lines or parts than a person's has: 2 MB of empty parts would take seconds and half a gigabyte. */
function isTooLaborious(bytes: Uint8Array): boolean {
  let [lines, dashed] = [0, 0];
  for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1)) {
    if (++lines > MAX_LINES) return true;
    if (bytes[at + 1] === DASH && bytes[at + 2] === DASH && ++dashed > MAX_DASHED_LINES) return true;
  }
  return false;
}
