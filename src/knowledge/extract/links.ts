/** The longest URL of a page. */
export const MAX_URL_CHARS = 2_000;

/** Resolves a link to an absolute http(s) URL; null for other schemes. */
export function resolveLink(href: string, base: string): string | null {
  const address = href.trim();
  if (address.length > MAX_URL_CHARS || !URL.canParse(address, base)) return null;
  const url = new URL(address, base);
  return (url.protocol === "https:" || url.protocol === "http:") && url.href.length <= MAX_URL_CHARS ? url.href : null;
}

/** Decodes the escapes of a path; an invalid one is returned unchanged. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
