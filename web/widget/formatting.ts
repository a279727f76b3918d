import { signal } from "@preact/signals";
import type { lex } from "../shared/lexer.ts";

/** What reads Markdown, once it is loaded: a module of its own, since nobody needs it to ask the first question. */
export const lexer = signal<typeof lex | undefined>(undefined);

/** Loads it; until then, and where it cannot be loaded, texts are shown as they are. */
export function loadLexer(): void {
  import("../shared/lexer.ts").then(
    ({ lex }) => (lexer.value = lex),
    () => undefined,
  );
}
