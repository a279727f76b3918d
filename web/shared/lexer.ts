import { Lexer, type Token } from "marked";

/** Texts with deeper nesting are not written by people. Parsing or rendering them would exceed the stack of a browser. */
const MAX_DEPTH = 30;

/** The time of the parser grows with the square of the characters of emphasis, and it runs again for each piece of a streamed answer. */
const MAX_EMPHASIS = 1_000;
const EMPHASIS = /[*_~]/g;

/**
 * Splits a Markdown text into blocks. A text that is nested too deeply or has too much emphasis is one block without formatting. The
 * function has a module of its own because the widget loads the parser, which is large, later.
 */
export function lex(text: string): Token[] {
  if ((text.match(EMPHASIS)?.length ?? 0) > MAX_EMPHASIS) return [unformatted(text)];
  try {
    const blocks = Lexer.lex(text, { gfm: true, breaks: true }).filter(({ type }) => type !== "space" && type !== "def");
    if (!isDeeper(blocks, MAX_DEPTH)) return blocks;
  } catch (error) {
    // The parser calls itself for each level.
    if (!(error instanceof RangeError)) throw error;
  }
  return [unformatted(text)];
}

function unformatted(text: string): Token {
  return { type: "paragraph", raw: text, text };
}

/** Whether tokens are nested more deeply than `depth` levels. */
function isDeeper(tokens: readonly Token[], depth: number): boolean {
  return tokens.some((token) => {
    const { tokens: own = [], items = [] } = token as { tokens?: Token[]; items?: Token[] };
    return own.length + items.length > 0 && (depth === 0 || isDeeper(own, depth - 1) || isDeeper(items, depth - 1));
  });
}
