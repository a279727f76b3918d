import { Parser } from "htmlparser2";
import { MAX_URL_CHARS, resolveLink } from "../extract/links.ts";
import { unpacked } from "../extract/unpack.ts";

/** An entry of a sitemap: a page, or another sitemap. */
export interface SitemapEntry {
  kind: "page" | "sitemap";
  /** Absolute, http or https, not yet normalised. */
  url: string;
}

/** The limits of the sitemap protocol. */
const MAX_SITEMAP_BYTES = 50 * 1024 * 1024;
const MAX_ENTRIES = 50_000;
/** A sitemap nests only a few elements. */
const MAX_DEPTH = 50;
/** A text with so few tags is no sitemap, and the parser would buffer all of it. */
const MAX_CHARS_WITHOUT_TAG = 1024 * 1024;

/**
 * Streams the entries of a sitemap, a sitemap index, an RSS or Atom feed or a plain list of URLs, gzipped or not. It ends early at a
 * limit, at truncated data and for other content, and never throws for invalid content.
 */
export async function* sitemapEntries(body: ReadableStream<Uint8Array>, sitemapUrl: string): AsyncGenerator<SitemapEntry> {
  const decoder = new TextDecoder();
  let reader: SitemapReader | undefined;
  let count = 0;
  for await (const piece of unpacked(body, MAX_SITEMAP_BYTES)) {
    const text = decoder.decode(piece, { stream: true });
    reader ??= readerFor(text, sitemapUrl);
    if (!reader) continue;
    for (const entry of reader.read(text)) {
      yield entry;
      if (++count >= MAX_ENTRIES) return;
    }
    if (reader.isDone) return;
  }
  if (reader) yield* reader.end().slice(0, MAX_ENTRIES - count);
}

interface SitemapReader {
  /** Whether reading may stop. */
  readonly isDone: boolean;
  read(text: string): SitemapEntry[];
  end(): SitemapEntry[];
}

/** Chooses the reader by the first character; undefined while there are only blanks. */
function readerFor(text: string, base: string): SitemapReader | undefined {
  const start = text.trimStart();
  if (start === "") return undefined;
  return start.startsWith("<") ? new XmlReader(base) : new LineReader(base);
}

class LineReader implements SitemapReader {
  isDone = false;
  private rest = "";

  constructor(private readonly base: string) {}

  read(text: string): SitemapEntry[] {
    const lines = (this.rest + text).split(/\r\n|\r|\n/);
    this.rest = lines.pop()!;
    if (this.rest.length > MAX_URL_CHARS) this.isDone = true;
    return lines.flatMap((line) => this.entryOf(line));
  }

  end(): SitemapEntry[] {
    return this.entryOf(this.rest);
  }

  private entryOf(line: string): SitemapEntry[] {
    // A line is an absolute URL; anything else is prose.
    return /^\s*https?:\/\//i.test(line) ? entry("page", line, this.base) : [];
  }
}

/** Elements whose text is the URL of an entry, as parent/child. */
const LOCATIONS = new Set(["url/loc", "sitemap/loc", "item/link"]);
const EXTENSION = /^(?:image|video|news|media|xhtml|mobile|pagemap):/;
const ENTRIES = new Set(["url", "sitemap", "item", "entry"]);

class XmlReader implements SitemapReader {
  isDone = false;
  private readonly path: string[] = [];
  private found: SitemapEntry[] = [];
  private location = "";
  private charsSinceTag = 0;
  private readonly parser: Parser;

  constructor(private readonly base: string) {
    this.parser = new Parser(
      {
        onopentag: (name, attributes) => this.open(localName(name), attributes),
        ontext: (text) => this.text(text),
        onclosetag: (name) => this.close(localName(name)),
      },
      { xmlMode: true, decodeEntities: true },
    );
  }

  read(text: string): SitemapEntry[] {
    this.charsSinceTag += text.length;
    this.parser.write(text);
    if (this.charsSinceTag > MAX_CHARS_WITHOUT_TAG || this.path.length > MAX_DEPTH) this.isDone = true;
    return this.drain();
  }

  end(): SitemapEntry[] {
    this.parser.end();
    return this.drain();
  }

  private drain(): SitemapEntry[] {
    const drained = this.found;
    this.found = [];
    return drained;
  }

  private open(name: string, attributes: Record<string, string>): void {
    this.charsSinceTag = 0;
    this.path.push(name);
    if (ENTRIES.has(name)) this.location = "";
    const isAtomLink = name === "link" && this.path.at(-2) === "entry" && ["alternate", undefined].includes(attributes["rel"]);
    if (isAtomLink) this.location ||= attributes["href"] ?? "";
  }

  private text(text: string): void {
    const isLocation = LOCATIONS.has(`${this.path.at(-2)}/${this.path.at(-1)}`);
    if (isLocation && this.location.length <= MAX_URL_CHARS) this.location += text.slice(0, MAX_URL_CHARS + 1);
  }

  private close(name: string): void {
    this.charsSinceTag = 0;
    this.path.pop();
    if (!ENTRIES.has(name)) return;
    this.found.push(...entry(name === "sitemap" ? "sitemap" : "page", this.location, this.base));
    this.location = "";
  }
}

function entry(kind: SitemapEntry["kind"], location: string, base: string): SitemapEntry[] {
  const url = location.trim() === "" ? null : resolveLink(location, base);
  return url === null ? [] : [{ kind, url }];
}

/** A name in lower case without its prefix, which sites may choose. Names of extensions keep their prefix. */
function localName(name: string): string {
  const lower = name.toLowerCase();
  return EXTENSION.test(lower) ? lower : lower.slice(lower.indexOf(":") + 1);
}
