import { writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";

/** The rows of a table. The keys of the first row are the columns; the first column names the row. */
export type Table = Record<string, string | number>[];

/** The results of a bench. */
export interface Report {
  tables: Table[];
  /** Sentences that are printed below the tables. */
  notes?: string[];
  /** What `--json FILE` writes besides the tables. */
  data?: object;
}

/** Formats a report as Markdown. */
export function formatReport({ tables, notes = [] }: Report): string {
  return [...tables.map(formatTable), notes.join("\n")].filter((part) => part !== "").join("\n\n");
}

function formatTable(rows: Table): string {
  const columns = Object.keys(rows[0] ?? {});
  const alignments = columns.map((_, at) => (at === 0 ? "---" : "---:"));
  return [columns, alignments, ...rows.map((row) => columns.map((column) => row[column]))]
    .map((row) => `| ${row.join(" | ")} |`)
    .join("\n");
}

/** Prints a report, and writes its figures to a file where one is named. */
export async function publishReport(report: Report, jsonFile: string | undefined): Promise<void> {
  console.log(`\n${formatReport(report)}`);
  const figures = {
    at: new Date().toISOString(),
    cores: availableParallelism(),
    tables: report.tables,
    notes: report.notes,
    ...report.data,
  };
  if (jsonFile !== undefined) await writeFile(jsonFile, JSON.stringify(figures, null, 2));
}
