const IMAGE = /!\[[^\]]*\]\([^)\s]+\)/g;
const LINK = /\[([^\]]+)\]\([^)\s]+\)/g;
/** A code block, and the colon at the end of the paragraph before it. */
const CODE_BLOCK = /(:\n\n)?^```(\w*)[^\n]*\n[^]*?^```\n/gm;
/** The languages of code blocks that are commands, output or diagrams. Other blocks are examples. */
const TRANSCRIPTS = new Set(["", "sh", "console", "text", "json", "mermaid"]);

/**
 * A guide as answers can quote it: without commands, since a question that a command asks is no answer to that question,
 * without images, and without links, which lead nowhere outside the guide.
 */
export function quotable(markdown: string): string {
  return markdown
    .replaceAll(CODE_BLOCK, (block, colon: string | undefined, language: string) => {
      if (!TRANSCRIPTS.has(language)) return block;
      return colon === undefined ? "" : ".\n\n";
    })
    .replaceAll(IMAGE, "")
    .replaceAll(LINK, "$1");
}
