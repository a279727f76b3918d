/** Lines that begin the history below an answer, in the words of the common mail programs. */
const HISTORY = [
  /^-{2,}\s*(original message|forwarded message|ursprüngliche nachricht|weitergeleitete nachricht|message d'origine|mensaje original|messaggio originale|oorspronkelijk bericht)\s*-{2,}$/i,
  /^_{20,}$/,
  /^begin forwarded message:$/i,
];
/** "On Tuesday … wrote:", which programs break over up to three lines. */
const ATTRIBUTION_START = /^(on|am|le|el|il|em|op|den|dnia|w dniu|пт|ср|вт|пн|чт|сб|вс)\b/iu;
const ATTRIBUTION_END =
  /(wrote|schrieb|geschrieben|a écrit|escribió|ha scritto|escreveu|schreef|skrev|napisał\(?a?\)?|пишет|написал\(?а?\)?)\b.{0,200}:$/iu;
const ATTRIBUTION_LINES = 3;
/** A block of headers, as Outlook puts above what it quotes. */
const HEADER_BLOCK = /^\*?(from|von|de|da|van|från|fra)\s?:\*?\s.*[@<[]/i;
const HEADER_BLOCK_NEXT = /^\*?(sent|date|gesendet|datum|envoyé|enviado|inviato|verzonden|skickat|to|an|à|para)\s?:/i;
/** RFC 3676, 4.3, and what telephones add. */
const SIGNATURE =
  /^(--\s?|__+|sent from my .{1,40}|get outlook for .{1,40}|von meinem .{1,40} gesendet|envoyé de mon .{1,40}|enviado desde mi .{1,40})$/i;

/** Longer lines are never one of these; they are not tried against the patterns. */
const MAX_MARK_LENGTH = 300;

/**
 * What is new in a mail: its text up to the history that it quotes and the signature. Each line is looked at once, so
 * no text makes this slow. A mail that is nothing but quotes is read whole.
 */
export function visibleText(text: string): string {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const end = lines.findIndex((line, at) => beginsHistory(lines, line.trim(), at));
  const kept = lines.slice(0, end < 0 ? lines.length : end).filter((line) => !line.startsWith(">"));
  const visible = kept
    .join("\n")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim();
  return visible === "" ? text.trim() : visible;
}

function beginsHistory(lines: string[], line: string, at: number): boolean {
  if (line === "" || line.length > MAX_MARK_LENGTH) return false;
  if (SIGNATURE.test(line) || HISTORY.some((mark) => mark.test(line))) return true;
  if (HEADER_BLOCK.test(line)) return lines.slice(at + 1, at + 4).some((next) => HEADER_BLOCK_NEXT.test(next.trim()));
  if (!ATTRIBUTION_START.test(line)) return false;
  const next = lines.slice(at, at + ATTRIBUTION_LINES).map((each) => each.trim().slice(0, MAX_MARK_LENGTH));
  return next.some((_, count) => ATTRIBUTION_END.test(next.slice(0, count + 1).join(" ")));
}
