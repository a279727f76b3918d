import { type ChildNode, Element, Text } from "domhandler";
import { Unzip, UnzipInflate } from "fflate";
import { pacer } from "../../platform/time.ts";
import { docxNumbering, type DocxNumbering, docxStyles, type DocxStyle } from "./docx-styles.ts";
import { MarkdownRenderer } from "./html-text.ts";
import { XmlParser } from "./xml-parser.ts";

/*
 * Reads Word documents as a tree of HTML, which the renderer of pages turns into Markdown. The archive is unpacked piece by piece into
 * the XML parser, so that memory is bounded by the document's text. Libraries that convert to HTML (mammoth) hold the archive, its
 * XML and a tree of it in memory at once, and have no limits.
 */

export type DocxReading = { kind: "text"; text: string; truncated: boolean } | { kind: "skipped"; reason: DocxProblem };
export type DocxProblem = "unsupported_type" | "docx_damaged" | "docx_too_large";

/** The archive is unpacked in small pieces, since one piece unpacks to up to 1,032 times its size. */
const PIECE_BYTES = 512;
/** After so many unpacked bytes, which are parsed in some milliseconds, other requests get their turn. */
const SLICE_BYTES = 64 * 1024;
/** The most bytes that are unpacked. A book of a thousand pages has a tenth of it. */
const MAX_UNPACKED_BYTES = 48 * 1024 * 1024;
/** The most files in the archive; each picture is one. */
const MAX_ENTRIES = 10_000;
/** The most that is read of the styles, and of the lists. Word writes half a megabyte at most. */
const MAX_DEFINITION_CHARS = 2 * 1024 * 1024;
/** The name of the document in the archive. Some services add a number to it. */
const DOCUMENT = /^word\/document\d*\.xml$/;

/** Reads the text of a Word document, with its headings, lists and tables. */
export async function readDocx(bytes: Uint8Array, maxChars: number): Promise<DocxReading> {
  let tree: DocumentTree;
  try {
    const found = { styles: "", numbering: "" };
    const keep = (name: keyof typeof found) => (text: string) => {
      if (found[name].length < MAX_DEFINITION_CHARS) found[name] += text;
    };
    await unpack(bytes, { "word/styles.xml": keep("styles"), "word/numbering.xml": keep("numbering") });
    const [styles, numbering] = [found.styles, found.numbering].map((xml) => xml.slice(0, MAX_DEFINITION_CHARS));
    tree = new DocumentTree(maxChars, docxStyles(styles!), docxNumbering(numbering!));
    const parser = new XmlParser(tree);
    const isFound = await unpack(bytes, { document: (text) => parser.write(text) });
    if (!isFound) return { kind: "skipped", reason: "unsupported_type" };
    parser.end();
  } catch (error) {
    return { kind: "skipped", reason: error instanceof TooLargeError ? "docx_too_large" : "docx_damaged" };
  }
  const renderer = new MarkdownRenderer({ controlled: new Set(), tabs: new Map(), mainAncestors: new Set() }, false, maxChars);
  const { text, truncated } = await renderer.render([tree.root]);
  return { kind: "text", text, truncated: tree.isTruncated || truncated };
}

class TooLargeError extends Error {}

/**
 * Unpacks the wanted files of an archive.
 * @param wanted a function for each file name that takes the text of the file.
 * @returns whether the archive has one of the files.
 */
async function unpack(bytes: Uint8Array, wanted: Record<string, (text: string) => void>): Promise<boolean> {
  const pause = pacer(SLICE_BYTES);
  let unpacked = 0;
  let entries = 0;
  let isFound = false;
  let failure: Error | undefined;
  const waiting: { data: Uint8Array; take: (part: Uint8Array, isLastPart: boolean) => void }[] = [];
  const archive = new Unzip((file) => {
    if (++entries > MAX_ENTRIES) failure = new TooLargeError();
    const take = wanted[DOCUMENT.test(file.name) ? "document" : file.name];
    if (!take) return;
    isFound = true;
    const decoder = new TextDecoder();
    file.ondata = (error, data, isLast) => {
      if (error) failure = error;
      else if ((unpacked += data.length) > MAX_UNPACKED_BYTES) failure = new TooLargeError();
      else waiting.push({ data, take: (part, isLastPart) => take(decoder.decode(part, { stream: !(isLast && isLastPart) })) });
    };
    file.start();
  });
  archive.register(UnzipInflate);
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    archive.push(bytes.subarray(at, at + PIECE_BYTES), at + PIECE_BYTES >= bytes.length);
    if (failure) throw failure;
    for (const { data, take } of waiting.splice(0)) {
      for (let from = 0; from === 0 || from < data.length; from += SLICE_BYTES) {
        take(data.subarray(from, from + SLICE_BYTES), from + SLICE_BYTES >= data.length);
        await pause(Math.min(SLICE_BYTES, data.length - from));
      }
    }
  }
  return isFound;
}

// --- The tree ---

/** Elements that are not part of the text: deleted and moved text, earlier properties, the fallback of a drawing. */
const SKIPPED = new Set(["w:del", "w:moveFrom", "w:pPrChange", "w:rPrChange", "w:tblPrChange", "mc:Fallback", "w:instrText"]);
/** The characters that some elements stand for. */
const CHARACTERS: Record<string, string> = { "w:tab": " ", "w:noBreakHyphen": "-" };
/** The most paragraphs, cells and line breaks, which take about 27 MB of the isolate's 128. A book of a thousand pages has a third of it. */
const MAX_NODES = 60_000;
/** The least memory that a piece of text takes, in characters: its place in the string that it is appended to. */
const MIN_PIECE_CHARS = 8;
const MAX_LEVEL = 8;
const MAX_COLUMNS = 40;
/** The most tables within one another, since functions that walk the tree are recursive. */
const MAX_TABLES = 20;

interface Paragraph {
  nodes: ChildNode[];
  text: string;
  style: string;
  listId: string | undefined;
  level: number | undefined;
  outline: number | undefined;
}

/** The element that blocks are added to: the document, or a cell of a table. */
interface Container {
  element: Element;
  /** The open lists, outermost first. */
  lists: { element: Element; listId: string }[];
}

interface Table {
  element: Element;
  hasHeader: boolean;
  /** The cells that span further rows, by column. */
  spanning: Map<number, Element>;
  column: number;
}

/** Builds the tree from the XML parser's events. */
class DocumentTree {
  readonly root = new Element("#root", {});
  isTruncated = false;
  private readonly containers: Container[] = [{ element: this.root, lists: [] }];
  private readonly tables: Table[] = [];
  private readonly paragraphs: Paragraph[] = [];
  /** The number of items of each list so far, by its id and level. */
  private readonly counts = new Map<string, number>();
  private skipped = 0;
  private isText = false;
  private isHidden = false;
  private isContents = false;
  private chars = 0;
  private nodes = 0;

  constructor(
    private readonly maxChars: number,
    private readonly styles: ReadonlyMap<string, DocxStyle>,
    private readonly numbering: DocxNumbering,
  ) {}

  onopentag(name: string, attribs: Record<string, string>): void {
    if (this.skipped > 0 || this.isSkipped(name)) {
      this.skipped++;
      return;
    }
    const paragraph = this.paragraphs.at(-1);
    if (paragraph && this.paragraphTag(name, attribs["w:val"], paragraph)) return;
    this.blockTag(name, attribs);
  }

  ontext(text: string): void {
    const paragraph = this.paragraphs.at(-1);
    if (this.isText && this.skipped === 0 && !this.isHidden && paragraph) this.addText(paragraph, text);
  }

  private addText(paragraph: Paragraph, text: string): void {
    if ((this.chars += Math.max(text.length, MIN_PIECE_CHARS)) > this.maxChars) this.isTruncated = true;
    else paragraph.text += text;
  }

  private createElement(name: string, children: ChildNode[] = [], attribs: Record<string, string> = {}): Element {
    if (++this.nodes > MAX_NODES) throw new TooLargeError();
    return new Element(name, attribs, children);
  }

  onclosetag(name: string): void {
    if (this.skipped > 0) {
      this.skipped--;
      return;
    }
    if (name === "w:t" || name === "m:t") this.isText = false;
    else if (name === "w:r") this.isHidden = false;
    else if (name === "w:p") this.endParagraph();
    else if (name === "w:tc") this.endCell();
    else if (name === "w:tbl") this.endTable();
    else if (name === "w:sdt") this.isContents = false;
  }

  private isSkipped(name: string): boolean {
    if (name === "w:tbl") return this.tables.length >= MAX_TABLES;
    return SKIPPED.has(name) || (name === "w:sdtContent" && this.isContents);
  }

  /** Handles a tag of a paragraph. @returns false for other tags. */
  private paragraphTag(name: string, value: string | undefined, paragraph: Paragraph): boolean {
    if (name === "w:t" || name === "m:t") this.isText = true;
    else if (name === "w:pStyle") paragraph.style = value ?? "";
    else if (name === "w:numId") paragraph.listId = value;
    else if (name === "w:ilvl") paragraph.level = Number(value);
    else if (name === "w:outlineLvl") paragraph.outline = Number(value);
    else if (name === "w:vanish") this.isHidden = value !== "0" && value !== "false";
    else if (name === "w:br" || name === "w:cr") this.lineBreak(paragraph);
    else if (CHARACTERS[name] !== undefined) this.addText(paragraph, CHARACTERS[name]);
    else return false;
    return true;
  }

  private blockTag(name: string, attribs: Record<string, string>): void {
    const table = this.tables.at(-1);
    if (name === "w:p") this.paragraphs.push({ nodes: [], text: "", style: "", listId: undefined, level: undefined, outline: undefined });
    else if (name === "w:docPartGallery" && /table of contents/i.test(attribs["w:val"] ?? "")) this.isContents = true;
    else if (name === "w:r") this.isHidden = false;
    else if (name === "w:tbl") this.tables.push({ element: this.createElement("table"), hasHeader: true, spanning: new Map(), column: 0 });
    else if (table) this.tableTag(name, attribs, table);
  }

  private tableTag(name: string, attribs: Record<string, string>, table: Table): void {
    const cell = this.containers.at(-1)!.element;
    if (name === "w:tblLook") table.hasHeader = attribs["w:firstRow"] !== "0";
    else if (name === "w:tr") {
      table.element.children.push(this.createElement("tr"));
      table.column = 0;
    } else if (name === "w:tc") this.containers.push({ element: this.createElement("td"), lists: [] });
    else if (name === "w:gridSpan" && cell.name === "td") cell.attribs["colspan"] = `${Number.parseInt(attribs["w:val"] ?? "1", 10)}`;
    else if (name === "w:vMerge" && cell.name === "td") cell.attribs["merge"] = attribs["w:val"] ?? "continue";
  }

  private lineBreak(paragraph: Paragraph): void {
    paragraph.nodes.push(new Text(paragraph.text), this.createElement("br"));
    paragraph.text = "";
  }

  private endParagraph(): void {
    const paragraph = this.paragraphs.pop();
    if (!paragraph) return;
    const { nodes, text } = paragraph;
    if (text !== "") nodes.push(new Text(text));
    if (nodes.length === 0) return;
    const style = this.styles.get(paragraph.style);
    if (style?.isContents) return;
    const container = this.containers.at(-1)!;
    const heading = paragraph.outline ?? style?.outline;
    const listId = paragraph.listId ?? style?.listId;
    const isItem = heading === undefined && listId !== undefined && listId !== "0";
    if (isItem) return this.addItem(container, nodes, listId, paragraph.level ?? style?.level ?? 0);
    container.lists = [];
    const isHeading = heading !== undefined && heading <= MAX_LEVEL;
    container.element.children.push(this.createElement(isHeading ? `h${Math.min(heading + 1, 6)}` : "p", nodes));
  }

  /** Adds an item to the list of its level. A new list is nested in the last item, and continues the numbering of an earlier list with this id. */
  private addItem(container: Container, nodes: ChildNode[], listId: string, wantedLevel: number): void {
    const { lists } = container;
    const level = Math.min(Number.isInteger(wantedLevel) ? Math.max(wantedLevel, 0) : 0, lists.length, MAX_LEVEL);
    const name = this.numbering(listId, wantedLevel) === "bullet" ? "ul" : "ol";
    lists.length = Math.min(lists.length, level + 1);
    if (lists[level] && (lists[level].element.name !== name || lists[level].listId !== listId)) lists.length = level;
    const key = (at: number) => `${listId} ${at}`;
    const number = (this.counts.get(key(level)) ?? 0) + 1;
    this.counts.set(key(level), number);
    for (let deeper = level + 1; deeper <= MAX_LEVEL; deeper++) this.counts.delete(key(deeper));
    if (!lists[level]) {
      const list = this.createElement(name, [], name === "ol" ? { start: `${number}` } : {});
      const parent = lists[level - 1]?.element.children.at(-1) as Element | undefined;
      (parent ?? container.element).children.push(list);
      lists.push({ element: list, listId });
    }
    lists[level]!.element.children.push(this.createElement("li", nodes));
  }

  private endCell(): void {
    const table = this.tables.at(-1);
    const row = table?.element.children.at(-1) as Element | undefined;
    if (!table || !row || this.containers.length === 1) return;
    const { element: cell } = this.containers.pop()!;
    const { column, spanning } = table;
    table.column += Math.max(1, Math.min(MAX_COLUMNS, Number.parseInt(cell.attribs["colspan"] ?? "1", 10) || 1));
    const above = spanning.get(column);
    if (cell.attribs["merge"] === "continue" && above) {
      above.attribs["rowspan"] = `${Number(above.attribs["rowspan"] ?? "1") + 1}`;
      return;
    }
    if (cell.attribs["merge"] === "restart") spanning.set(column, cell);
    else spanning.delete(column);
    row.children.push(cell);
  }

  private endTable(): void {
    const table = this.tables.pop();
    if (!table) return;
    const [first] = table.element.children as Element[];
    if (table.hasHeader) for (const cell of first?.children ?? []) (cell as Element).name = "th";
    const container = this.containers.at(-1)!;
    container.lists = [];
    container.element.children.push(table.element);
  }
}
