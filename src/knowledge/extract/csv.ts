import Papa from "papaparse";

/** The delimiters that spreadsheets write. */
const DELIMITERS = [",", ";", "\t"];
/** The number of rows that are checked to detect a table. */
const SAMPLED_ROWS = 50;
const SAMPLE_CHARS = 64 * 1024;
/** A longer first cell of a column is a sentence, not a name. */
const MAX_HEAD_CHARS = 80;

/** The number of characters that are split into rows at a time. */
const CHUNK_CHARS = 256 * 1024;

/**
 * Converts a CSV file to a Markdown table, whose first row names the columns. Undefined for a text that is no table: the first rows
 * of a table have equally many cells, at least two, and its first row has short names, with no space after a delimiter as in prose.
 * @param maxChars the table ends soon after this number of characters.
 */
export function csvTable(text: string, maxChars: number): string | undefined {
  const sample = text.slice(0, SAMPLE_CHARS);
  const delimiter = DELIMITERS.find((each) => isTable(rowsOf(sample, each, SAMPLED_ROWS), text.length > SAMPLE_CHARS));
  if (delimiter === undefined) return undefined;
  // The rows are read one by one: all together they would take fifty times the memory of the text.
  const lines: string[] = [];
  let chars = 0;
  const step = ({ data: row }: Papa.ParseStepResult<string[]>, parser: Papa.Parser) => {
    const cells = row.map(cellText);
    if (lines.length > 0 && cells.every((cell) => cell === "")) return;
    lines.push(`| ${cells.join(" | ")} |`);
    if (lines.length === 1) lines.push(`|${" --- |".repeat(cells.length)}`);
    if ((chars += lines.at(-1)!.length) > maxChars) parser.abort();
  };
  Papa.parse(text, { delimiter, skipEmptyLines: "greedy", chunkSize: CHUNK_CHARS, step });
  return lines.join("\n");
}

function rowsOf(text: string, delimiter: string, preview: number): string[][] {
  return Papa.parse<string[]>(text, { delimiter, preview, skipEmptyLines: "greedy" }).data;
}

/** @param isCut whether the last row may be incomplete. */
function isTable(rows: string[][], isCut: boolean): boolean {
  const [heads = [], ...others] = isCut && rows.length < SAMPLED_ROWS ? rows.slice(0, -1) : rows;
  const areNames = heads.every((head) => head.trimStart() === head && head.length <= MAX_HEAD_CHARS && !/[.!?:]$/.test(head));
  const isDistinct = new Set(heads.filter((head) => head !== "")).size >= heads.length - 1;
  return heads.length > 1 && others.length > 0 && areNames && isDistinct && others.every((row) => row.length === heads.length);
}

function cellText(cell: string): string {
  return cell.replaceAll(/\s+/g, " ").trim().replaceAll("|", "\\|");
}
