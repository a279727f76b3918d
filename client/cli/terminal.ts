/** Writes a line of output. */
export function print(line: string): void {
  process.stdout.write(`${printable(line)}\n`);
}

/** Writes a record as a line of JSON. */
export function printRecord(record: unknown): void {
  process.stdout.write(`${JSON.stringify(record)}\n`);
}

/** Tells the person at the terminal something that is not output. */
export function note(line: string): void {
  endProgress();
  process.stderr.write(`${printable(line)}\n`);
}

let progress = "";

/** Shows how far something is: in one line that changes, or where no terminal is, in a line for each change. */
export function showProgress(line: string): void {
  if (line === progress) return;
  process.stderr.write(process.stderr.isTTY ? `\r\u001b[K${printable(line)}` : `${printable(line)}\n`);
  progress = line;
}

/** Leaves the line of the progress as it is. */
export function endProgress(): void {
  if (progress !== "" && process.stderr.isTTY) process.stderr.write("\n");
  progress = "";
}

/** A text without what a terminal would obey: it may come from anybody. */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- these are the ones
  return text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");
}

/** Writes rows in columns, the names of the columns above them. */
export function printTable(names: readonly string[], rows: readonly (readonly string[])[]): void {
  const lines = [names, ...rows].map((row) => row.map((cell) => printable(cell).replaceAll(/\s+/g, " ")));
  const widths = names.map((_, at) => Math.max(...lines.map((line) => line[at]!.length)));
  for (const line of lines) {
    const text = line.map((cell, at) => (at === line.length - 1 ? cell : cell.padEnd(widths[at]!))).join("  ");
    print(process.stdout.isTTY ? text.slice(0, process.stdout.columns) : text);
  }
}

/** A time of the API in the reader's time zone. */
export function timeText(timestamp: string | null): string {
  return timestamp === null ? "never" : new Date(timestamp).toLocaleString("sv-SE");
}

const GAP = 2;

/** Two columns, indented. */
export function columns(lines: readonly [left: string, right: string][]): string {
  const width = Math.max(...lines.map(([left]) => left.length)) + GAP;
  return lines.map(([left, right]) => `  ${left.padEnd(width)}${right}`).join("\n");
}
