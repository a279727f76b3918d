import { lex } from "../../shared/lexer.ts";
import { Markdown } from "../../shared/markdown.tsx";

/** A text in Markdown. @param isOpen whether more of it is to come. */
export function RichText({ text, isOpen = false }: { text: string; isOpen?: boolean }) {
  return <Markdown blocks={lex(text)} isOpen={isOpen} />;
}
