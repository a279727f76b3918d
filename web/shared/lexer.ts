import { Lexer, type Token } from "marked";

/** Splits a Markdown text into blocks. It has a module of its own because the widget loads the parser, which is large, later. */
export function lex(text: string): Token[] {
  return Lexer.lex(text, { gfm: true, breaks: true }).filter(({ type }) => type !== "space" && type !== "def");
}
