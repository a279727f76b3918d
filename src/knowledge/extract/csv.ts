import Papa from "papaparse";

/** As spreadsheets write them. */
const DELIMITERS = [",", ";", "\t"];
/** The rows that tell whether a text is a table. */
const SAMPLED_ROWS = 50;
const SAMPLE_CHARS = 64 * 1024;
/** A longer head of a column is a sentence. */
const MAX_HEAD_CHARS = 80;

/** Characters that are split into rows at once. */
const CHUNK_CHARS = 256 * 1024;

/**
 * The text of a CSV file as a Markdown table, whose first row names the columns. Undefined for a text that is none: all its first
 * rows have as many cells, two at least, and the first one has short names without a space after the delimiter, as prose has.
 * @param maxChars a longer table ends soon after so many characters.
 */
export function csvTable(text: string, maxChars: number): string | undefined {
  const sample = text.slice(0, SAMPLE_CHARS);
  const delimiter = DELIMITERS.find((each) => isTable(rowsOf(sample, each, SAMPLED_ROWS), text.length > SAMPLE_CHARS));
  if (delimiter === undefined) return undefined;
  // Row by row: all rows together would take fifty times the memory of the text.
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

/** @param isCut whether the last row may be a part of one. */
function isTable(rows: string[][], isCut: boolean): boolean {
  const [heads = [], ...others] = isCut && rows.length < SAMPLED_ROWS ? rows.slice(0, -1) : rows;
  const areNames = heads.every((head) => head.trimStart() === head && head.length <= MAX_HEAD_CHARS && !/[.!?:]$/.test(head));
  const isDistinct = new Set(heads.filter((head) => head !== "")).size >= heads.length - 1;
  return heads.length > 1 && others.length > 0 && areNames && isDistinct && others.every((row) => row.length === heads.length);
}

function cellText(cell: string): string {
  return cell.replaceAll(/\s+/g, " ").trim().replaceAll("|", "\\|");
}
