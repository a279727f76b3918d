const IMAGE = /!\[[^\]]*\]\([^)\s]+\)/g;
const LINK = /\[([^\]]+)\]\([^)\s]+\)/g;
const CODE_BLOCK = /^```(\w*)[^\n]*\n[^]*?^```\n/gm;
/** The languages of code blocks that are commands, output or diagrams. Other blocks are examples. */
const TRANSCRIPTS = new Set(["", "sh", "console", "text", "json", "mermaid"]);

/**
 * A guide as answers can quote it: without commands, since a question that a command asks is no answer to that question,
 * without images, and without links, which lead nowhere outside the guide.
 */
export function quotable(markdown: string): string {
  return markdown
    .replaceAll(CODE_BLOCK, (block, language: string) => (TRANSCRIPTS.has(language) ? "" : block))
    .replaceAll(IMAGE, "")
    .replaceAll(LINK, "$1");
}
