const PROTOCOLS = new Set(["http:", "https:", "mailto:"]);

/** Returns an absolute http, https or mail address, and undefined for any other. */
export function safeUrl(href: string): string | undefined {
  if (!URL.canParse(href)) return undefined;
  const url = new URL(href);
  return PROTOCOLS.has(url.protocol) ? url.href : undefined;
}

/** Removes the formatting of a Markdown text, for screen readers and previews. */
export function plainText(markdown: string): string {
  return markdown
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/^[ \t]*(?:#{1,6}|[-*+>]|```\w*)[ \t]*/gm, "")
    .replace(/^[ \t]*\|?[ \t]*:?-{3,}[-:| \t]*$/gm, "")
    .replace(/[*`~]{1,3}|[<>]/g, "")
    .replace(/\|/g, " ")
    .replace(/\s+/g, " ")
    .trim();
}
