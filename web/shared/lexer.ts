import { Lexer, type Token } from "marked";

/** Texts with deeper nesting are not written by people. Parsing or rendering them would exceed the stack of a browser. */
const MAX_DEPTH = 30;

/**
 * Splits a Markdown text into blocks. A text that is nested too deeply is one block without formatting. The function has a module of its
 * own because the widget loads the parser, which is large, later.
 */
export function lex(text: string): Token[] {
  try {
    const blocks = Lexer.lex(text, { gfm: true, breaks: true }).filter(({ type }) => type !== "space" && type !== "def");
    if (!isDeeper(blocks, MAX_DEPTH)) return blocks;
  } catch (error) {
    // The parser calls itself for each level.
    if (!(error instanceof RangeError)) throw error;
  }
  return [{ type: "paragraph", raw: text, text }];
}

/** Whether tokens are nested more deeply than `depth` levels. */
function isDeeper(tokens: readonly Token[], depth: number): boolean {
  return tokens.some((token) => {
    const { tokens: own = [], items = [] } = token as { tokens?: Token[]; items?: Token[] };
    return own.length + items.length > 0 && (depth === 0 || isDeeper(own, depth - 1) || isDeeper(items, depth - 1));
  });
}
