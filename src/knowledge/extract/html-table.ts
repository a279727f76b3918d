import { type Element, isTag } from "domhandler";
import { existsOne, textContent } from "domutils";
import type { Slices } from "../../platform/time.ts";

/** A table with more columns is a layout or an attack. */
const MAX_COLUMNS = 40;
const MAX_ROW_SPAN = 200;
/** A short cell that spans rows or columns is repeated in each of them; a longer text stays in the first. */
const MAX_REPEATED_CHARS = 120;
/** A table whose cells contain these elements is a layout. */
const BLOCKS_IN_CELLS = /^(?:table|pre|h[1-6])$/;

/** Whether a table is used for layout, and holds no data. */
export function isLayoutTable(table: Element, rows: Element[]): boolean {
  if (["presentation", "none"].includes(table.attribs["role"] ?? "")) return true;
  const widest = rows.reduce((most, row) => Math.max(most, cellsOf(row).length), 0);
  return widest <= 1 || existsOne(({ name }) => BLOCKS_IN_CELLS.test(name), table.children);
}

/** The rows of a table in order, without those of nested tables. */
export function rowsOf(table: Element): Element[] {
  return table.children.filter(isTag).flatMap((child) => {
    if (child.name === "tr") return [child];
    return ["thead", "tbody", "tfoot"].includes(child.name) ? child.children.filter(isTag).filter((row) => row.name === "tr") : [];
  });
}

interface Cell {
  text: string;
  isHead: boolean;
  /** Whether it repeats the cell before it, which spans columns. */
  isRepeated: boolean;
}

/**
 * Renders a table as blocks of Markdown. Its ruler follows the header, so that each part of a table that is cut has the header. A table
 * without one whose values each have a name before them becomes a list: "- Weight: 5 kg".
 * @param repeat returns as much of a text that is repeated as may still be rendered.
 */
export function* tableBlocks(
  rows: Element[],
  textOf: (cell: Element) => Slices<string>,
  repeat: (text: string) => string,
): Slices<string[]> {
  const first = rows.findIndex((row) => cellsOf(row).length > 0 && !isTitle(row));
  const blocks: string[] = [];
  for (const row of rows.slice(0, first).filter(isTitle)) blocks.push(yield* textOf(cellsOf(row)[0]!));
  const data = rows.slice(first);
  const firstOfBody = data.findIndex((row) => !isHeader(row));
  const headers = firstOfBody < 0 ? 1 : firstOfBody;
  const spanning = new Map<number, { cell: Cell; rows: number }>();
  const cells: Cell[][] = [];
  for (const [at, row] of data.entries()) cells.push(yield* rowCells(row, at < headers, spanning, textOf, repeat));
  const isList = headers === 0 && data.every((row, at) => isTitle(row) || isNamed(cells[at]!));
  const lines = isList
    ? data.flatMap((row, at) => (isTitle(row) ? `\n${cells[at]![0]!.text}\n` : listLines(cells[at]!)))
    : [...headerLines(cells.slice(0, headers)), ...cells.slice(headers).map((row) => tableLine(row.map(({ text }) => text)))];
  const table = lines.filter((line) => line !== "").join("\n");
  return [...blocks, table.trim()];
}

/** Whether a row is one cell over several columns. */
function isTitle(row: Element): boolean {
  const [cell, ...others] = cellsOf(row);
  return cell !== undefined && others.length === 0 && span(cell, "colspan", MAX_COLUMNS) > 1;
}

/** Whether a row names the columns. Its first cell may be empty. */
function isHeader(row: Element): boolean {
  const cells = cellsOf(row);
  if (cells.length < 2) return false;
  const isInHead = row.parent !== null && isTag(row.parent) && row.parent.name === "thead";
  const isHead = (cell: Element): boolean => cell.name === "th";
  return isInHead || (cells.slice(1).some(isHead) && cells.every((cell) => isHead(cell) || textContent(cell).trim() === ""));
}

/** Whether a row has values, each after a name. */
function isNamed(cells: Cell[]): boolean {
  const own = cells.filter(({ isRepeated }) => !isRepeated);
  return own.some(({ isHead }) => !isHead) && own.every(({ isHead }, at) => isHead || own[at - 1]?.isHead === true);
}

/** The names of the columns, each joined from all rows of the header. */
function headerLines(rows: Cell[][]): string[] {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const names = Array.from({ length: columns }, (_, column) => [...new Set(rows.map((row) => row[column]?.text ?? ""))].join(" ").trim());
  const line = tableLine(names);
  return line === "" ? [] : [line, tableLine(names.map(() => "---"))];
}

/** A row of Markdown; "" if all cells are empty. */
function tableLine(texts: string[]): string {
  return texts.every((text) => text === "") ? "" : `| ${texts.map((text) => text.replaceAll("|", "\\|")).join(" | ")} |`;
}

/** The items of a list that a row with names becomes. A name after a value begins another item. */
function listLines(cells: Cell[]): string[] {
  const items: { name: string; value?: string }[] = [];
  for (const { text, isHead } of cells.filter(({ isRepeated }) => !isRepeated)) {
    const last = items.at(-1);
    if (last && !isHead) last.value = text;
    else if (last && last.value === undefined) last.name += ` ${text}`;
    else items.push({ name: text });
  }
  return items.map(({ name, value = "" }) => {
    const text = [name.trim().replace(/(?<!\s)\s*:$/, ""), value].filter((part) => part !== "").join(": ");
    return text === "" ? "" : `- ${text}`;
  });
}

/** The cells of a row. One that spans columns is repeated, except the first of a row that is no header, which names the row. */
function* rowCells(
  row: Element,
  isHeader: boolean,
  spanning: Map<number, { cell: Cell; rows: number }>,
  textOf: (cell: Element) => Slices<string>,
  repeat: (text: string) => string,
): Slices<Cell[]> {
  const cells: Cell[] = [];
  const again = (cell: Cell): Cell => ({ ...cell, text: cell.text.length > MAX_REPEATED_CHARS ? "" : repeat(cell.text) });
  const fillSpanned = (): void => {
    for (let from = spanning.get(cells.length); from; from = spanning.get(cells.length)) {
      from.rows--;
      if (from.rows === 0) spanning.delete(cells.length);
      cells.push(again(from.cell));
    }
  };
  for (const element of cellsOf(row)) {
    fillSpanned();
    if (cells.length >= MAX_COLUMNS) break;
    const text = (yield* textOf(element)).replace(/(?<!\s)\s*\n\s*/g, " ");
    const cell = { text, isHead: element.name === "th", isRepeated: false };
    const repeated = { ...cell, text: isHeader || cells.length > 0 ? text : "", isRepeated: true };
    const columns = span(element, "colspan", MAX_COLUMNS - cells.length);
    const rows = span(element, "rowspan", MAX_ROW_SPAN);
    for (let column = 0; column < columns; column++) {
      const next = column === 0 ? cell : again(repeated);
      if (rows > 1) spanning.set(cells.length, { cell: next, rows: rows - 1 });
      cells.push(next);
    }
  }
  fillSpanned();
  return cells;
}

function span(cell: Element, name: string, most: number): number {
  const value = Number.parseInt(cell.attribs[name] ?? "1", 10);
  return Math.max(1, Math.min(most, Number.isNaN(value) ? 1 : value));
}

function cellsOf(row: Element): Element[] {
  return row.children.filter(isTag).filter((cell) => cell.name === "td" || cell.name === "th");
}
