/** Spreadsheets evaluate a cell that begins with one of these. https://owasp.org/www-community/attacks/CSV_Injection */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;
const NEEDS_QUOTES = /[",\r\n]/;

export type Cell = string | number | boolean | null;

/**
 * A formula after a character with which some spreadsheets end a cell: where the comma is the decimal separator, they separate cells by
 * semicolons, and then quotation marks around a whole cell of this file protect nothing in it.
 */
const INNER_FORMULA = /([;\t\r\n][" ]*)(?=[=+\-@＝＋－＠])/g;

/**
 * Returns cells as a line of CSV (RFC 4180). A text that a spreadsheet would evaluate gets an apostrophe before what would be evaluated.
 */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(textOf).join(",")}\r\n`;
}

function textOf(cell: Cell): string {
  if (typeof cell !== "string") return cell === null ? "" : String(cell);
  const inner = cell.replaceAll(INNER_FORMULA, "$1'");
  const text = FORMULA.test(inner) ? `'${inner}` : inner;
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
