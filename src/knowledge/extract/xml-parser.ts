import { type Handler, Parser } from "htmlparser2";

/** Each end tag searches the open elements, so that their number multiplies the time that a document takes. */
const MAX_OPEN_ELEMENTS = 1_000;
/** The most attributes of a tag; the root of a Word document has 40. */
const MAX_ATTRIBUTES = 500;
/** The longest tag or comment, which the parser holds until it ends. Some word processors write a drawing into an attribute. */
const MAX_TAG_CHARS = 2 * 1024 * 1024;

/** An XML parser that expands only the entities of XML itself. Its methods throw an Error for XML that no word processor writes. */
export class XmlParser {
  private readonly parser: Parser;
  private depth = 0;
  private attributes = 0;
  /** The characters since the last tag or text ended. */
  private pendingChars = 0;

  constructor(handler: Pick<Handler, "onopentag"> & Partial<Handler>) {
    const events: Partial<Handler> = {
      onattribute: () => {
        if (++this.attributes > MAX_ATTRIBUTES) throw new Error("A tag has too many attributes");
      },
      onopentag: (name, attribs, isImplied) => {
        if (++this.depth > MAX_OPEN_ELEMENTS) throw new Error("The XML is nested too deeply");
        this.attributes = this.pendingChars = 0;
        handler.onopentag(name, attribs, isImplied);
      },
      ontext: (text) => {
        this.pendingChars = 0;
        handler.ontext?.(text);
      },
      onclosetag: (name, isImplied) => {
        this.depth--;
        this.pendingChars = 0;
        handler.onclosetag?.(name, isImplied);
      },
      oncomment: () => {
        this.pendingChars = 0;
      },
    };
    this.parser = new Parser(events, { xmlMode: true });
  }

  write(text: string): void {
    this.pendingChars += text.length;
    this.parser.write(text);
    if (this.pendingChars > MAX_TAG_CHARS) throw new Error("A tag is too long");
  }

  end(): void {
    this.parser.end();
  }
}
