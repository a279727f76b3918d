/** Prints a line of output. */
export function print(line: string): void {
  process.stdout.write(`${printable(line)}\n`);
}

/** Prints a record as a line of JSON. */
export function printRecord(record: unknown): void {
  process.stdout.write(`${JSON.stringify(record)}\n`);
}

/** Prints a line that is not output, to the standard error. */
export function note(line: string): void {
  endProgress();
  process.stderr.write(`${printable(line)}\n`);
}

let progress = "";

/** Shows progress: in a terminal as one line that is overwritten, elsewhere as a line for each change. */
export function showProgress(line: string): void {
  if (line === progress) return;
  process.stderr.write(process.stderr.isTTY ? `\r\u001b[K${printable(line)}` : `${printable(line)}\n`);
  progress = line;
}

/** Ends the line of the progress, so that other output follows below it. */
export function endProgress(): void {
  if (progress !== "" && process.stderr.isTTY) process.stderr.write("\n");
  progress = "";
}

/** Removes control characters, by which a text from a stranger could control the terminal. */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- it removes them
  return text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");
}

/** Prints a table with a line of column names. */
export function printTable(names: readonly string[], rows: readonly (readonly string[])[]): void {
  const lines = [names, ...rows].map((row) => row.map((cell) => printable(cell).replaceAll(/\s+/g, " ")));
  const widths = names.map((_, at) => Math.max(...lines.map((line) => line[at]!.length)));
  for (const line of lines) {
    const text = line.map((cell, at) => (at === line.length - 1 ? cell : cell.padEnd(widths[at]!))).join("  ");
    print(process.stdout.isTTY ? text.slice(0, process.stdout.columns) : text);
  }
}

/** Formats a time of the API in the local time zone. */
export function timeText(timestamp: string | null): string {
  return timestamp === null ? "never" : new Date(timestamp).toLocaleString("sv-SE");
}

const GAP = 2;

/** Formats lines in two indented columns. */
export function columns(lines: readonly [left: string, right: string][]): string {
  const width = Math.max(...lines.map(([left]) => left.length)) + GAP;
  return lines.map(([left, right]) => `  ${left.padEnd(width)}${right}`).join("\n");
}
