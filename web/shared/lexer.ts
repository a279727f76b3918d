import { Lexer, type Token } from "marked";

/** The blocks of a Markdown text. It is most of what formatting needs, so faces may load it apart from the rest. */
export function lex(text: string): Token[] {
  return Lexer.lex(text, { gfm: true, breaks: true }).filter(({ type }) => type !== "space" && type !== "def");
}
