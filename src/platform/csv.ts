/** Spreadsheets evaluate a cell that begins with one of these. https://owasp.org/www-community/attacks/CSV_Injection */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;
const NEEDS_QUOTES = /[",\r\n]/;

export type Cell = string | number | boolean | null;

/** A line of CSV (RFC 4180). A text that a spreadsheet would evaluate gets a leading apostrophe. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(textOf).join(",")}\r\n`;
}

function textOf(cell: Cell): string {
  if (typeof cell !== "string") return cell === null ? "" : String(cell);
  const text = FORMULA.test(cell) ? `'${cell}` : cell;
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
