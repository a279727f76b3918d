import { Parser } from "htmlparser2";

/** What stands on lines of its own. */
const BLOCKS = new Set(["p", "div", "br", "li", "tr", "ul", "ol", "table", "pre", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "section"]);
/** What is not read, and how mail programs mark the history that they quote. */
const UNREAD = new Set(["head", "style", "script", "title", "blockquote", "template", "svg"]);
const QUOTES = /\b(gmail_quote|gmail_extra|yahoo_quoted|moz-cite-prefix|protonmail_quote|zmail_extra)\b/;
const QUOTE_IDS = /^(divRplyFwdMsg|appendonsend|mail-editor-reference-message-container)$/;
/** Three hundred answers, each quoting the one before. The parser searches and moves all open elements at each tag. */
const MAX_DEPTH = 1_000;

/**
 * The text that the writer of an HTML mail wrote: its lines, without the history that it quotes. It ends where elements are
 * nested deeper than in any mail.
 */
export function textOfHtml(html: string): string {
  let text = "";
  let [depth, unreadFrom] = [0, 0];
  const parser = new Parser({
    onopentag(name, { class: classes = "", id = "" }) {
      depth++;
      if (depth > MAX_DEPTH) return parser.pause();
      if (unreadFrom === 0 && (UNREAD.has(name) || QUOTES.test(classes) || QUOTE_IDS.test(id))) unreadFrom = depth;
      if (unreadFrom === 0 && BLOCKS.has(name)) text += name === "li" ? "\n- " : "\n";
    },
    ontext(words) {
      if (unreadFrom === 0) text += words.replaceAll(/[\s\u00a0]+/g, " ");
    },
    onclosetag(name) {
      if (unreadFrom === depth) unreadFrom = 0;
      depth--;
      if (unreadFrom === 0 && BLOCKS.has(name) && name !== "br") text += "\n";
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
