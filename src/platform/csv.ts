/** Spreadsheets take a cell that begins so for a formula. https://owasp.org/www-community/attacks/CSV_Injection */
const FORMULA = /^[=+\-@\t\r]/;
const NEEDS_QUOTES = /[",\r\n]/;

export type Cell = string | number | boolean | null;

/** A row of CSV (RFC 4180), with the end of its line. A text that looks like a formula is marked as text. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(textOf).join(",")}\r\n`;
}

function textOf(cell: Cell): string {
  if (typeof cell !== "string") return cell === null ? "" : String(cell);
  const text = FORMULA.test(cell) ? `'${cell}` : cell;
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
