import { lex } from "../../shared/lexer.ts";
import { Markdown } from "../../shared/markdown.tsx";

/** A text in Markdown. @param isOpen whether the text is still being written. */
export function RichText({ text, isOpen = false }: { text: string; isOpen?: boolean }) {
  return <Markdown blocks={lex(text)} isOpen={isOpen} />;
}
