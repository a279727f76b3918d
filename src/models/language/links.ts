const URL_IN_TEXT = /(?:https?:)?\/\/[^\s<>"'`\\|^{}]+|\bwww\.[^\s<>"'`\\|^{}]+/gi;
const TRAILING = ".,;:!?)]*_~'\"";
/** No sentence ends a link with more; a line of thousands would be thousands of links. */
const MAX_TRAILING = 20;

/**
 * The links that an answer may hold: those that stand, letter by letter, in what it rests on. A link that a model makes up
 * leads nowhere at best; at worst whoever wrote a page lets it carry a conversation away, by an image that loads by itself.
 */
export class KnownLinks {
  private readonly known = new Set<string>();

  /** @param texts read when a link is asked for first: more may be known by then. */
  constructor(private readonly texts: () => readonly string[]) {}

  has(link: string): boolean {
    if (this.known.size === 0) for (const found of this.texts().flatMap((text) => [...text.matchAll(URL_IN_TEXT)])) this.learn(found[0]);
    return this.known.has(normalize(link));
  }

  /** Forgets what it has read, as there is more now. */
  refresh(): void {
    this.known.clear();
  }

  private learn(link: string): void {
    for (const end of ends(link)) this.known.add(normalize(link.slice(0, end)));
  }
}

/** Where a link that was found in a text may end: the punctuation behind it may belong to the sentence. */
export function ends(link: string): number[] {
  const found = [link.length];
  for (let end = link.length; found.length <= MAX_TRAILING && end > 0 && TRAILING.includes(link[end - 1]!); end--) found.push(end - 1);
  return found;
}

/** The same page by another spelling: a slash at the end, or a place within the page. */
function normalize(link: string): string {
  return link.replace(/#[^#]*$/, "").replace(/\/$/, "");
}
