import { Lexer } from "./lexer.ts";

/** The sections of a CMap, and the number of items of each entry. In a range, the first two are the first and the last code. */
const SECTIONS = new Map([
  ["begincodespacerange", 2],
  ["beginbfchar", 2],
  ["begincidchar", 2],
  ["beginbfrange", 3],
  ["begincidrange", 3],
]);
const HEX_CODE = /^<[\s\da-f]{1,16}>$/i;
const HEAD = "/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n";
const END = "endcmap end end";

/** Counts the memory that the codes of a file's CMaps take; false beyond the bound. */
export type CodeCounter = (codes: number, charsEach: number) => boolean;

/**
 * Copies the entries of a CMap, which maps the codes of a font to characters.
 * @returns undefined where a range has codes that no font has, or the file's CMaps have too many.
 */
export function copiedCMap(bytes: Uint8Array, count: CodeCounter): string | undefined {
  const lexer = new Lexer(bytes);
  const parts = [HEAD];
  let name = "";
  for (let kind = lexer.next(); kind !== "end"; kind = lexer.next()) {
    if (kind === "name") name = lexer.name();
    // A vertical font.
    else if (kind === "number" && name === "WMode" && lexer.text() === "1") parts.push("/WMode 1 def\n");
    else if (kind === "keyword") {
      const keyword = lexer.end - lexer.start < 20 ? lexer.text() : "";
      const size = SECTIONS.get(keyword);
      const section = size === undefined ? "" : sectionOf(lexer, keyword, size, count);
      if (section === undefined) return undefined;
      parts.push(section);
    }
  }
  return parts.join("") + END;
}

function sectionOf(lexer: Lexer, keyword: string, size: number, count: CodeCounter): string | undefined {
  const items: string[] = [];
  for (let kind = lexer.next(); kind !== "end" && kind !== "keyword"; kind = lexer.next()) {
    if (kind !== "[") items.push(lexer.text());
    else {
      const start = lexer.start;
      for (let inner = lexer.next(); inner === "string";) inner = lexer.next();
      if (lexer.kind !== "]") return undefined;
      lexer.start = start;
      items.push(lexer.text());
    }
  }
  const entries: string[] = [];
  for (let at = 0; at + size <= items.length; at += size) {
    const entry = items.slice(at, at + size);
    const [first, last] = [codeOf(entry[0]!), size === 3 ? codeOf(entry[1]!) : codeOf(entry[0]!)];
    const target = entry.at(-1)!;
    const charsEach = target.startsWith("[") ? 1 : Math.ceil(target.length / 4);
    if (first === undefined || last === undefined || target.startsWith("(") || !count(last - first + 1, charsEach)) return undefined;
    entries.push(entry.join(" "));
  }
  return `${entries.length} ${keyword}\n${entries.join("\n")}\n${keyword.replace("begin", "end")}\n`;
}

/** The code that a string in hexadecimal stands for. */
function codeOf(item: string): number | undefined {
  return HEX_CODE.test(item) ? Number.parseInt(item.slice(1, -1).replaceAll(/\s/g, ""), 16) || 0 : undefined;
}
