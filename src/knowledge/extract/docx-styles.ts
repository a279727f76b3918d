import { xmlParser } from "./xml.ts";

/** What of a paragraph style says what a paragraph is. */
export interface DocxStyle {
  /** The level of a heading, from 0. */
  outline: number | undefined;
  listId: string | undefined;
  level: number | undefined;
  /** Whether it is that of a line of the table of contents. */
  isContents: boolean;
}

/** The kind of a list's level. */
export type DocxNumbering = (listId: string, level: number) => "bullet" | "number";

interface NamedStyle extends Omit<DocxStyle, "isContents"> {
  name: string;
  basedOn: string | undefined;
}

/** A style is based on another, that one on a third, …; a longer chain is a loop. */
const MAX_CHAIN = 10;
/** Word stores the names of its own styles in English in every language. */
const HEADING_NAME = /^heading ([1-9])$/i;

/** The styles of `word/styles.xml`, by their ids. */
export function docxStyles(xml: string): Map<string, DocxStyle> {
  const named = new Map<string, NamedStyle>();
  let style: NamedStyle | undefined;
  parse(xml, (tag, attribs) => {
    const value = attribs["w:val"];
    if (tag === "w:style") {
      style = { name: "", basedOn: undefined, outline: undefined, listId: undefined, level: undefined };
      named.set(attribs["w:styleId"] ?? "", style);
    } else if (!style) return;
    else if (tag === "w:name") style.name = value ?? "";
    else if (tag === "w:basedOn") style.basedOn = value;
    else if (tag === "w:outlineLvl") style.outline = Number(value);
    else if (tag === "w:numId") style.listId = value;
    else if (tag === "w:ilvl") style.level = Number(value);
  });
  return new Map([...named.keys()].map((id) => [id, resolved(named, id)]));
}

function resolved(named: ReadonlyMap<string, NamedStyle>, id: string): DocxStyle {
  const chain: NamedStyle[] = [];
  for (let at = named.get(id); at && chain.length < MAX_CHAIN; at = named.get(at.basedOn ?? "")) chain.push(at);
  const first = <Key extends keyof NamedStyle>(key: Key) => chain.find((style) => style[key] !== undefined)?.[key];
  const outline = chain.map(outlineOf).find((level) => level !== undefined);
  return { outline, listId: first("listId"), level: first("level"), isContents: /^toc \d$/i.test(chain[0]!.name) };
}

function outlineOf({ name, outline }: NamedStyle): number | undefined {
  if (/^title$/i.test(name)) return 0;
  const heading = HEADING_NAME.exec(name)?.[1];
  return heading === undefined ? outline : Number(heading) - 1;
}

/** What `word/numbering.xml` says of lists. A list that it does not know has bullets. */
export function docxNumbering(xml: string): DocxNumbering {
  const formats = new Map<string, string>();
  const abstractIds = new Map<string, string>();
  let abstractId = "";
  let listId = "";
  let level = "";
  parse(xml, (tag, attribs) => {
    if (tag === "w:abstractNum") abstractId = attribs["w:abstractNumId"] ?? "";
    else if (tag === "w:lvl") level = attribs["w:ilvl"] ?? "";
    else if (tag === "w:numFmt") formats.set(`${abstractId} ${level}`, attribs["w:val"] ?? "");
    else if (tag === "w:num") listId = attribs["w:numId"] ?? "";
    else if (tag === "w:abstractNumId") abstractIds.set(listId, attribs["w:val"] ?? "");
  });
  return (id, at) => {
    const format = formats.get(`${abstractIds.get(id)} ${at}`) ?? "bullet";
    return format === "bullet" || format === "none" ? "bullet" : "number";
  };
}

function parse(xml: string, onopentag: (tag: string, attribs: Record<string, string>) => void): void {
  xmlParser({ onopentag }).end(xml);
}
