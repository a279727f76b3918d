import { inSlices, type Slices } from "../../platform/time.ts";
import { textContent } from "./content.ts";
import { FontCopier } from "./fonts.ts";
import { nameOf, type PdfFile } from "./file.ts";
import { PdfName, PdfRef, type PdfDict, PdfTooLargeError, type PdfValue } from "./values.ts";
import { PdfWriter } from "./writer.ts";

export interface PdfCopy {
  bytes: Uint8Array;
  /** Whether the file has more pages than the copy. */
  isTruncated: boolean;
}

/** The text of more pages would be truncated. */
const MAX_PAGES = 500;
/** The most nodes of the page tree that are visited, and the depth to which they are nested. */
const MAX_NODES = 20_000;
const MAX_TREE_DEPTH = 50;
/** The most content of one page, which is unpacked at once, and of one form. */
const MAX_CONTENT_BYTES = 8 * 1024 * 1024;
/** The most content that is reduced to its text. */
const MAX_ALL_CONTENT_BYTES = 64 * 1024 * 1024;
/** After so many pages, other requests get their turn, also if the pages have little content. */
const PAGES_PER_SLICE = 20;
/** The most bytes of operators that show text: of one page, and of all. A form counts each time that it is shown. */
const MAX_PAGE_TEXT_BYTES = 2 * 1024 * 1024;
const MAX_TEXT_BYTES = 16 * 1024 * 1024;
const MAX_FORM_DEPTH = 12;
/** The least that a form costs each time that it is shown, in bytes of operators. */
const FORM_BYTES = 256;

/** Page attributes that pages inherit. */
const INHERITED = ["Resources", "MediaBox", "CropBox", "Rotate"];

/** Content in the copy: its object, and the bytes of operators that showing it once takes, with the forms in it. */
interface CopiedForm {
  object: PdfRef;
  cost: number;
}

/**
 * Copies what the text of a PDF needs: its pages with the operators that show text, the forms and fonts that these use, its title.
 * The copy has no filters, no cross-reference streams and no encryption, so what it takes to parse is known and bounded.
 * @throws PdfTooLargeError, Error where it has no pages
 */
export function textCopy(file: PdfFile): Promise<PdfCopy> {
  return inSlices(new Copy(file).run());
}

class Copy {
  private readonly writer = new PdfWriter();
  private readonly fonts: FontCopier;
  /** Forms with resources of their own. A form that is being copied is undefined, since it may not show itself. */
  private readonly forms = new Map<number, CopiedForm | undefined>();
  private contentBytes = 0;

  constructor(private readonly file: PdfFile) {
    this.fonts = new FontCopier(file, this.writer);
  }

  *run(): Slices<PdfCopy> {
    const { file, writer } = this;
    const root = file.dict(file.trailer.get("Root"));
    const tree = writer.next();
    const kids: PdfRef[] = [];
    let cost = 0;
    let isTruncated = false;
    for (const page of this.pages(root?.get("Pages"))) {
      if (kids.length === MAX_PAGES) {
        isTruncated = true;
        break;
      }
      if (kids.length % PAGES_PER_SLICE === 0) yield;
      const copied = yield* this.page(page, tree);
      if ((cost += copied.cost) > MAX_TEXT_BYTES) throw new PdfTooLargeError();
      kids.push(copied.object);
    }
    if (kids.length === 0) throw new Error("The PDF has no pages");
    writer.object(
      new Map<string, PdfValue>([
        ["Type", new PdfName("Pages")],
        ["Kids", kids],
        ["Count", kids.length],
      ]),
      tree,
    );
    const catalog = writer.object(
      new Map<string, PdfValue>([
        ["Type", new PdfName("Catalog")],
        ["Pages", tree],
      ]),
    );
    // The strings of an encrypted file are encrypted too.
    const title = file.isEncrypted() ? null : file.get(file.dict(file.trailer.get("Info"))?.get("Title"));
    const info = writer.object(new Map([["Title", title]]));
    return {
      bytes: writer.end(
        new Map([
          ["Root", catalog],
          ["Info", info],
        ]),
      ),
      isTruncated,
    };
  }

  /** The pages of a tree in order, with what they inherit. */
  private *pages(root: PdfValue | undefined): Generator<PdfDict> {
    const visited = new Set<number>();
    const waiting: { node: PdfValue; inherited: PdfDict; depth: number }[] = [{ node: root ?? null, inherited: new Map(), depth: 0 }];
    for (let next = waiting.pop(); next && visited.size < MAX_NODES; next = waiting.pop()) {
      const { node, inherited, depth } = next;
      if (node instanceof PdfRef) {
        if (visited.has(node.number)) continue;
        visited.add(node.number);
      }
      const dict = this.file.dict(node);
      if (!dict || depth > MAX_TREE_DEPTH) continue;
      const own = INHERITED.filter((key) => dict.has(key)).map((key) => [key, dict.get(key)!] as const);
      const attributes = new Map([...inherited, ...own]);
      const kids = this.file.get(dict.get("Kids"));
      if (!Array.isArray(kids)) yield new Map([...attributes, ["Contents", dict.get("Contents") ?? null]]);
      else for (const kid of kids.toReversed()) waiting.push({ node: kid, inherited: attributes, depth: depth + 1 });
    }
  }

  private *page(page: PdfDict, parent: PdfRef): Slices<CopiedForm> {
    const contents = page.get("Contents");
    const list = this.file.get(contents);
    const bytes = yield* this.unpackAll(Array.isArray(list) ? list : [contents ?? null]);
    const { content, resources, cost } = yield* this.content(bytes, this.file.dict(page.get("Resources")), 0);
    if (cost > MAX_PAGE_TEXT_BYTES) throw new PdfTooLargeError();
    const object = this.writer.object(
      new Map<string, PdfValue>([
        ["Type", new PdfName("Page")],
        ["Parent", parent],
        ["MediaBox", this.numbers(page.get("MediaBox"))],
        ["CropBox", this.numbers(page.get("CropBox"))],
        ["Rotate", this.number(page.get("Rotate"))],
        ["Contents", this.writer.stream(new Map(), content)],
        ["Resources", resources],
      ]),
    );
    return { object, cost };
  }

  /** The content of several streams, one after another. */
  private *unpackAll(streams: PdfValue[]): Slices<Uint8Array> {
    const parts: Uint8Array[] = [];
    let length = 0;
    for (const value of streams) {
      const stream = this.file.stream(value);
      const bytes = stream && (yield* this.file.unpack(stream, MAX_CONTENT_BYTES - length));
      if (!bytes) continue;
      parts.push(bytes);
      length += bytes.length + 1;
    }
    const [only] = parts;
    if (only && parts.length === 1) return only;
    const all = new Uint8Array(length).fill(10);
    let at = 0;
    for (const part of parts) {
      all.set(part, at);
      at += part.length + 1;
    }
    return all;
  }

  /** Reduces content to its text, and copies the fonts and forms that it uses. */
  private *content(
    bytes: Uint8Array,
    resources: PdfDict | undefined,
    depth: number,
  ): Slices<{ content: Uint8Array; resources: PdfDict; cost: number }> {
    if ((this.contentBytes += bytes.length) > MAX_ALL_CONTENT_BYTES || depth > MAX_FORM_DEPTH) throw new PdfTooLargeError();
    const own = { Font: this.file.dict(resources?.get("Font")), XObject: this.file.dict(resources?.get("XObject")) };
    const fonts: PdfDict = new Map();
    const forms = new Map<string, CopiedForm | undefined>();
    let cost = 0;
    const copyForm = (value: PdfValue) => this.form(value, resources!, depth + 1);
    const content = yield* textContent(bytes, {
      font: (name) => {
        const value = own.Font?.get(name);
        if (value !== undefined && !fonts.has(name)) fonts.set(name, this.fonts.copy(value));
        return value !== undefined;
      },
      *form(name) {
        const value = own.XObject?.get(name);
        if (value === undefined) return false;
        if (!forms.has(name)) forms.set(name, yield* copyForm(value));
        const form = forms.get(name);
        if (form && (cost += form.cost + FORM_BYTES) > MAX_TEXT_BYTES) throw new PdfTooLargeError();
        return form !== undefined;
      },
    });
    const shown = [...forms].flatMap(([name, form]) => (form ? [[name, form.object] as const] : []));
    const used: PdfDict = new Map([
      ["Font", fonts],
      ["XObject", new Map(shown)],
    ]);
    return { content, resources: used, cost: cost + content.length };
  }

  /** Copies a form. One without resources uses those of the content that shows it. Undefined for an image. */
  private *form(value: PdfValue, outer: PdfDict, depth: number): Slices<CopiedForm | undefined> {
    if (!(value instanceof PdfRef)) return undefined;
    if (this.forms.has(value.number)) return this.forms.get(value.number);
    const stream = this.file.stream(value);
    if (!stream || nameOf(this.file.get(stream.dict.get("Subtype"))) !== "Form") return undefined;
    const own = this.file.dict(stream.dict.get("Resources"));
    this.forms.set(value.number, undefined);
    const bytes = (yield* this.file.unpack(stream, MAX_CONTENT_BYTES)) ?? new Uint8Array();
    const { content, resources, cost } = yield* this.content(bytes, own ?? outer, depth);
    const dict: PdfDict = new Map<string, PdfValue>([
      ["Type", new PdfName("XObject")],
      ["Subtype", new PdfName("Form")],
      ["BBox", this.numbers(stream.dict.get("BBox"))],
      ["Matrix", this.numbers(stream.dict.get("Matrix"))],
      ["Resources", resources],
    ]);
    const copied = { object: this.writer.stream(dict, content), cost };
    if (own) this.forms.set(value.number, copied);
    else this.forms.delete(value.number);
    return copied;
  }

  private numbers(value: PdfValue | undefined): PdfValue {
    const list = this.file.get(value);
    return Array.isArray(list) && list.length <= 6 ? list.map((item) => this.number(item)) : null;
  }

  private number(value: PdfValue | undefined): PdfValue {
    const number = this.file.get(value);
    return typeof number === "number" ? number : null;
  }
}
