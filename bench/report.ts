import { writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";

/** A table of results. Cells are formatted already; the first column names the row. */
export interface Table {
  columns: string[];
  rows: (string | number)[][];
}

/** What a bench measured. */
export interface Report {
  tables: Table[];
  /** Sentences that are printed below the tables. */
  notes: string[];
  /** The figures themselves, for `--json FILE`. */
  data: object;
}

/** A report as Markdown. */
export function formatReport({ tables, notes }: Report): string {
  return [...tables.map(formatTable), notes.join("\n")].filter((part) => part !== "").join("\n\n");
}

function formatTable({ columns, rows }: Table): string {
  const alignments = columns.map((_, at) => (at === 0 ? "---" : "---:"));
  return [columns, alignments, ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
}

/** Prints a report, and writes its figures to a file where one is named. */
export async function publishReport(report: Report, jsonFile: string | undefined): Promise<void> {
  console.log(`\n${formatReport(report)}`);
  const figures = { at: new Date().toISOString(), cores: availableParallelism(), ...report.data };
  if (jsonFile !== undefined) await writeFile(jsonFile, JSON.stringify(figures, null, 2));
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

/** The value that a share of the others, from 0 to 1, is not above. */
export function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * share)]!;
}
