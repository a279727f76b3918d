import type { Handler } from "htmlparser2";
import { XmlParser } from "./xml-parser.ts";

/** The properties of a style that make a paragraph a heading, a list item or an entry of the table of contents. */
export interface DocxStyle {
  /** The level of a heading, from 0. */
  outline: number | undefined;
  listId: string | undefined;
  level: number | undefined;
  /** Whether the style is used for entries of the table of contents. */
  isContents: boolean;
}

/** The kind of a list's level. */
export type DocxNumbering = (listId: string, level: number) => "bullet" | "number";

interface NamedStyle extends Omit<DocxStyle, "isContents"> {
  name: string;
  basedOn: string | undefined;
}

/** The longest chain of styles that are based on one another; a longer one is a loop. */
const MAX_CHAIN = 10;
/** The names of the styles of Word itself are in English in the file, in every language of Word. */
const HEADING_NAME = /^heading ([1-9])$/i;

/** Reads the styles of `word/styles.xml`, by their ids. */
export function docxStyles(xml: string): Map<string, DocxStyle> {
  const named = new Map<string, NamedStyle>();
  let style: NamedStyle | undefined;
  const onopentag = (tag: string, attribs: Record<string, string>): void => {
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
  };
  parse(xml, { onopentag });
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

/** Reads the kinds of lists from `word/numbering.xml`. A list that is not defined there has bullets. */
export function docxNumbering(xml: string): DocxNumbering {
  const formats = new Map<string, string>();
  const abstractIds = new Map<string, string>();
  let abstractId = "";
  let listId = "";
  let level = "";
  const onopentag = (tag: string, attribs: Record<string, string>): void => {
    if (tag === "w:abstractNum") abstractId = attribs["w:abstractNumId"] ?? "";
    else if (tag === "w:lvl") level = attribs["w:ilvl"] ?? "";
    else if (tag === "w:numFmt") formats.set(`${abstractId} ${level}`, attribs["w:val"] ?? "");
    else if (tag === "w:num") listId = attribs["w:numId"] ?? "";
    else if (tag === "w:abstractNumId") abstractIds.set(listId, attribs["w:val"] ?? "");
  };
  parse(xml, { onopentag });
  return (id, at) => {
    const format = formats.get(`${abstractIds.get(id)} ${at}`) ?? "bullet";
    return format === "bullet" || format === "none" ? "bullet" : "number";
  };
}

function parse(xml: string, handler: Pick<Handler, "onopentag">): void {
  const parser = new XmlParser(handler);
  parser.write(xml);
  parser.end();
}
