/** Rows as CSV (RFC 4180). Spreadsheets take a cell that begins with one of these signs for a formula: it is quoted as text. */
const FORMULA = /^[=+\-@\t\r]/;

export function toCsv(names: readonly string[], rows: readonly (readonly (string | number | null)[])[]): Blob {
  const cell = (value: string | number | null) => {
    if (typeof value === "number") return String(value);
    const text = value === null ? "" : FORMULA.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = [names, ...rows].map((row) => row.map(cell).join(","));
  return new Blob([`${lines.join("\r\n")}\r\n`], { type: "text/csv;charset=utf-8" });
}
