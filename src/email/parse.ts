import { Parser } from "htmlparser2";
import PostalMime, { addressParser, type Attachment, type Email } from "postal-mime";
import { joinedBytes } from "../platform/read-stream.ts";
import { toSingleLine } from "../platform/text.ts";
import { redactBeginning } from "../redaction/redaction.ts";
import { MIN_INLINE_BYTES, nextDashedLine } from "./attachments.ts";

type Redact = (text: string) => string;

const PARSER_LIMITS = {
  maxNestingDepth: 20,
  maxHeadersSize: 256 * 1024,
  maxRfc822NestingDepth: 1,
  attachmentEncoding: "arraybuffer",
} as const;
/**
 * The bytes of a mail that the parser gets. It needs up to 20 bytes of memory for each, and only the beginning of a text and the names of
 * attachments are read.
 */
const MAX_PARSED_BYTES = 1024 * 1024;
/** The bytes of a part that are parsed, until the parts together have this size. */
const MAX_PART_BYTES = 512 * 1024;
/** The bytes of each further part that are parsed. The text below photos has room in them, and thirty parts do not take too much memory. */
const MAX_FURTHER_PART_BYTES = 16 * 1024;
/** Each line costs the parser 1 KB of memory. */
const MAX_LINES = 30_000;
/** Lines that start with `--` may start a MIME part, and each part costs the parser 2 KB. Pasted code and tables also have such lines. */
const MAX_DASHED_LINES = 10_000;

const LINE_FEED = 0x0a;
const LINE_END = new Uint8Array([LINE_FEED]);

/** The texts of one part of a mail, or of the alternatives of one part. A message within the mail has only a header here. */
interface PartTexts {
  plain?: Part[];
  html?: Part[];
}
type Part = { type: "text"; value: string } | { type: "subMessage"; value: Email };

interface ParserInternals {
  textMap: Map<unknown, PartTexts>;
  textTypes: Set<keyof PartTexts>;
  renderTextContent: (this: ParserInternals) => void;
}

const internals = PostalMime.prototype as unknown as ParserInternals;
const renderTextContent = internals.renderTextContent;
/**
 * Gives the parser the text of HTML parts in a mail that also has plain ones: its own conversion takes cubic time. It is changed here,
 * and not in a class of its own, since it also makes parsers for messages within a mail.
 */
internals.renderTextContent = function () {
  // The parser converts only what a part lacks. In a mail of one type, no part lacks it.
  if (this.textTypes.size > 1) {
    for (const texts of this.textMap.values()) {
      texts.html ??= [];
      texts.plain ??= texts.html.map(asPlain);
    }
  }
  renderTextContent.call(this);
};

function asPlain(part: Part): Part {
  return part.type === "text" ? { ...part, value: textOfHtml(part.value.slice(0, MAX_READ_LENGTH)) } : part;
}

/** Parses a mail; undefined if it cannot be parsed, or only at great cost. */
export async function parseMail(raw: Uint8Array<ArrayBuffer>): Promise<Email | undefined> {
  const bytes = shorten(raw);
  if (!bytes || hasTooManyLines(bytes)) return undefined;
  try {
    return await PostalMime.parse(bytes, PARSER_LIMITS);
  } catch {
    return undefined;
  }
}

/**
 * Whether a mail has exactly one sender address. With several, the sender's server may have authenticated a different address from the
 * one that is used here.
 */
export function hasSingleSender({ headers }: Email): boolean {
  const senders = headers.filter(({ key }) => key === "from").flatMap(({ value }) => addressParser(value));
  return senders.length === 1 && senders[0]!.address !== undefined;
}

/** Drops the rest of long parts, which a line that starts with `--` ends. Returns undefined if there are too many parts. */
function shorten(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | undefined {
  const pieces: Uint8Array[] = [];
  let [kept, parts] = [0, 0];
  for (let start = 0; start < bytes.length && kept < MAX_PARSED_BYTES; parts++) {
    if (parts > MAX_DASHED_LINES) return undefined;
    const end = nextDashedLine(bytes, start);
    const piece = bytes.subarray(start, Math.min(end, start + (kept < MAX_PART_BYTES ? MAX_PART_BYTES : MAX_FURTHER_PART_BYTES)));
    pieces.push(piece);
    kept += piece.length;
    // A boundary is only found at the beginning of a line.
    if (piece.length < end - start) pieces.push(LINE_END);
    start = end;
  }
  return joinedBytes(pieces);
}

function hasTooManyLines(bytes: Uint8Array): boolean {
  let lines = 0;
  for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1)) if (++lines > MAX_LINES) return true;
  return false;
}

/** The limit is that of a team's reply. Longer mails are usually pasted documents that start with the question. */
const MAX_QUESTION_LENGTH = 8_000;
/** Only the beginning of a mail is read, since the new text is above the quoted history. */
const MAX_READ_LENGTH = 200_000;
const MAX_SUBJECT_LENGTH = 300;
const MAX_NAMED_ATTACHMENTS = 10;
const MAX_FILE_NAME_LENGTH = 100;
const NO_SUBJECT = "(no subject)";

/** The question of a mail: its new text, and the names of the files that the conversation does not have. @param kept the names of those that it has. */
export function questionOf(mail: Email, kept: readonly (string | null)[] = [], redact?: Redact): string {
  const written = mail.text?.trim() ? mail.text : textOfHtml((mail.html ?? "").slice(0, MAX_READ_LENGTH));
  const visible = visibleText(written.slice(0, MAX_READ_LENGTH));
  const text = redactBeginning(visible, MAX_QUESTION_LENGTH, redact);
  const rest = visible.length > MAX_QUESTION_LENGTH ? ["[The rest of this mail was left out.]"] : [];
  const files = mail.attachments.filter((file) => !isLogo(file) && !kept.includes(file.filename)).slice(0, MAX_NAMED_ATTACHMENTS);
  const names = files.map(({ filename, mimeType }) => `[Attachment left out: ${toSingleLine(filename ?? mimeType, MAX_FILE_NAME_LENGTH)}]`);
  const named = names.map((name) => redact?.(name) ?? name);
  return [text === "" ? subjectOf(mail, redact) : text, ...rest, ...named].join("\n");
}

/** Whether a file belongs to the HTML text and is small. Of a part that is not parsed whole, only the beginning counts. */
function isLogo({ related, content }: Attachment): boolean {
  return related === true && (content as ArrayBuffer).byteLength < MIN_INLINE_BYTES;
}

/** Returns the subject of a mail in one line of at most 300 characters; "(no subject)" if it has none. */
export function subjectOf({ subject = "" }: Email, redact?: Redact): string {
  return redactBeginning(toSingleLine(subject, subject.length), MAX_SUBJECT_LENGTH, redact) || NO_SUBJECT;
}

/** Lines with which common mail programs start the history below a reply. */
const HISTORY = [
  /^-{2,}\s*(original message|forwarded message|ursprüngliche nachricht|weitergeleitete nachricht|message d'origine|mensaje original|messaggio originale|oorspronkelijk bericht)\s*-{2,}$/i,
  /^_{20,}$/,
  /^begin forwarded message:$/i,
];
/** The attribution "On Tuesday … wrote:", which may be wrapped over up to three lines. */
const ATTRIBUTION_START = /^(on|am|le|el|il|em|op|den|dnia|w dniu|пт|ср|вт|пн|чт|сб|вс)(?![\p{L}\p{N}])/iu;
const ATTRIBUTION_END =
  /(wrote|schrieb|geschrieben|a écrit|escribió|ha scritto|escreveu|schreef|skrev|napisał\(?a?\)?|пишет|написал\(?а?\)?)(?![\p{L}\p{N}]).{0,200}:$/iu;
const ATTRIBUTION_LINES = 3;
/** What distinguishes an attribution from a sentence such as "On Monday your colleague wrote:": an address or a time. */
const ATTRIBUTION_MARK = /@|\d:\d\d/;
/** The lines below an attribution in which its quoted text begins. */
const QUOTE_BEGINS_WITHIN = 5;
/** The headers that Outlook puts above a quoted mail. */
const HEADER_BLOCK = /^\*?(from|von|de|da|van|från|fra)\s?:\*?\s.*[@<[]/i;
const HEADER_BLOCK_NEXT = /^\*?(sent|date|gesendet|datum|envoyé|enviado|inviato|verzonden|skickat|to|an|à|para)\s?:/i;
/** The start of a signature: RFC 3676, 4.3. */
const SIGNATURE = /^(--\s?|__+)$/;
/** The line that mobile mail programs write above the history. Answers may follow between its quotes. */
const MOBILE_SIGNATURE =
  /^(sent from my .{1,40}|get outlook for .{1,40}|von meinem .{1,40} gesendet|envoyé de mon .{1,40}|enviado desde mi .{1,40})$/i;

/** Longer lines are not tested, since they match none of these patterns. */
const MAX_MARK_LENGTH = 300;

/**
 * The new text of a mail, up to its signature or the quoted history. Where quoted lines are marked with `>`, the answers between them are
 * part of the text. A mail that only quotes is returned whole. Each line is tested a few times at most, so that this takes linear time.
 */
export function visibleText(text: string): string {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const kept: string[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!;
    if (beginsHistory(lines, line.trim(), at)) break;
    const below = at + attributionLines(lines, line.trim(), at);
    const isAttribution = below > at;
    const next = isAttribution && lines.slice(below, below + QUOTE_BEGINS_WITHIN).find((each) => each.trim() !== "");
    if (next && next.startsWith(">")) at = below - 1;
    else if (isAttribution && (!next || ATTRIBUTION_MARK.test(lines.slice(at, below).join(" ")))) break;
    else if (!line.startsWith(">") && !MOBILE_SIGNATURE.test(line.trim())) kept.push(line);
  }
  const visible = kept
    .join("\n")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim();
  // A lone `>` stands for a quote of an HTML text, and has no words.
  return visible === "" ? text.replaceAll(/^>$/gm, "").trim() : visible;
}

function beginsHistory(lines: string[], line: string, at: number): boolean {
  if (line === "" || line.length > MAX_MARK_LENGTH) return false;
  if (SIGNATURE.test(line) || HISTORY.some((mark) => mark.test(line))) return true;
  return HEADER_BLOCK.test(line) && lines.slice(at + 1, at + 4).some((next) => HEADER_BLOCK_NEXT.test(next.trim()));
}

/** The number of lines of the attribution that begins at a line; 0 if none does. */
function attributionLines(lines: string[], line: string, at: number): number {
  if (line.length > MAX_MARK_LENGTH || !ATTRIBUTION_START.test(line)) return 0;
  const next = lines.slice(at, at + ATTRIBUTION_LINES).map((each) => each.trim().slice(0, MAX_MARK_LENGTH));
  const filled = next.includes("") ? next.slice(0, next.indexOf("")) : next;
  return filled.findIndex((_, last) => ATTRIBUTION_END.test(filled.slice(0, last + 1).join(" "))) + 1;
}

/** Elements that start a new line. */
const BLOCKS = new Set([
  "p",
  "div",
  "br",
  "li",
  "tr",
  "ul",
  "ol",
  "table",
  "pre",
  "h1",
  "h2",
  "h3",
  "h4",
  "h5",
  "h6",
  "hr",
  "section",
  "blockquote",
]);
/** Elements without text of the sender. The patterns below are classes and ids of quoted history in common mail programs. */
const SKIPPED = new Set(["head", "style", "script", "title", "blockquote", "template", "svg"]);
const QUOTES = /\b(gmail_quote|gmail_extra|yahoo_quoted|moz-cite-prefix|protonmail_quote|zmail_extra)\b/;
const QUOTE_IDS = /^(divRplyFwdMsg|appendonsend|mail-editor-reference-message-container)$/;
/** Enough for three hundred nested quotes. It is bounded, since the parser's work at each tag grows with the depth. */
const MAX_DEPTH = 1_000;

/**
 * The text of an HTML mail without the quoted history. The line `>` stands for a `<blockquote>`, so that `visibleText` knows where quotes
 * are. The text ends at the first element that is nested too deeply.
 */
export function textOfHtml(html: string): string {
  let text = "";
  let [depth, skippedFrom] = [0, 0];
  /** Whether answers may follow the first quote in the skipped element: Gmail puts the attribution, quotes and answers into one. */
  let mayHaveAnswers = false;
  const parser = new Parser({
    onopentag(name, { class: classes = "", id = "" }) {
      depth++;
      if (depth > MAX_DEPTH) return parser.pause();
      if (skippedFrom === 0 && (SKIPPED.has(name) || QUOTES.test(classes) || QUOTE_IDS.test(id))) {
        skippedFrom = depth;
        mayHaveAnswers = name === "div";
        if (name === "blockquote") text += "\n>";
      }
      if (skippedFrom === 0 && BLOCKS.has(name)) text += name === "li" ? "\n- " : "\n";
    },
    ontext(words) {
      if (skippedFrom === 0) text += words.replaceAll(/[\s\u00a0]+/g, " ");
    },
    onclosetag(name) {
      const endsFirstQuote = mayHaveAnswers && name === "blockquote" && skippedFrom === depth - 1;
      if (skippedFrom === depth || endsFirstQuote) skippedFrom = 0;
      depth--;
      if (skippedFrom === 0 && BLOCKS.has(name) && name !== "br") text += "\n";
    },
  });
  parser.end(html);
  return text
    .split("\n")
    .map((line) => line.trim())
    .join("\n")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim();
}
