import { type Element, isTag } from "domhandler";
import { existsOne } from "domutils";
import type { Slices } from "../../platform/time.ts";

/** A table with more columns is a layout or an attack. */
const MAX_COLUMNS = 40;
const MAX_ROW_SPAN = 200;
/** A short cell that spans rows is repeated in each of them; a longer text stays in its first row. */
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

/**
 * Renders a table as Markdown. A cell that spans rows is repeated in each row; one that spans columns is followed by empty cells. The
 * ruler follows the first row if that is a header, so that each part of a table that is cut has the header.
 */
export function* tableText(rows: Element[], textOf: (cell: Element) => Slices<string>): Slices<string> {
  const spanning = new Map<number, { text: string; rows: number }>();
  const lines: string[] = [];
  for (const row of rows) {
    const cells = yield* rowCells(row, spanning, textOf);
    if (cells.every((cell) => cell === "")) continue;
    lines.push(`| ${cells.join(" | ")} |`);
    const isHeader = lines.length === 1 && cellsOf(row).length > 1 && cellsOf(row).every((cell) => cell.name === "th");
    if (isHeader) lines.push(`| ${cells.map(() => "---").join(" | ")} |`);
  }
  return lines.join("\n");
}

function* rowCells(
  row: Element,
  spanning: Map<number, { text: string; rows: number }>,
  textOf: (cell: Element) => Slices<string>,
): Slices<string[]> {
  const cells: string[] = [];
  const fillSpanned = (): void => {
    for (let from = spanning.get(cells.length); from; from = spanning.get(cells.length)) {
      from.rows--;
      if (from.rows === 0) spanning.delete(cells.length);
      cells.push(from.text);
    }
  };
  for (const cell of cellsOf(row)) {
    fillSpanned();
    if (cells.length >= MAX_COLUMNS) break;
    const text = (yield* textOf(cell)).replace(/(?<!\s)\s*\n\s*/g, " ").replaceAll("|", "\\|");
    const columns = span(cell, "colspan", MAX_COLUMNS - cells.length);
    const rows = span(cell, "rowspan", MAX_ROW_SPAN);
    for (let column = 0; column < columns; column++) {
      const repeated = column === 0 ? text : "";
      if (rows > 1) spanning.set(cells.length, { text: repeated.length > MAX_REPEATED_CHARS ? "" : repeated, rows: rows - 1 });
      cells.push(repeated);
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
