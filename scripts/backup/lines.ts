import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { UserError } from "../shared/cli.ts";

/** The first line of an export. */
interface Header {
  type: "header";
  workspace_id: string;
  exported_at: string;
}

/** The last line of an export. */
export interface End {
  type: "end";
  counts: Record<string, number>;
  checksum: string;
}

/** A record, with its line as it is in the file. */
interface RecordLine {
  type: string;
  text: string;
}

/** The lines of a file around its records. */
export interface Frame {
  header: Header;
  end: End;
}

const TYPE = /^\{"type":"(\w+)"/;

/**
 * Yields the records of an export one by one, and returns the lines around them.
 * @throws UserError where the file cannot be read, is no export or is cut off.
 */
export async function* readRecords(file: string): AsyncGenerator<RecordLine, Frame> {
  let header: Header | undefined;
  let end: End | undefined;
  for await (const text of linesOf(file)) {
    const type = TYPE.exec(text)?.[1];
    if (type === undefined || end || (type === "header") !== (header === undefined))
      throw new UserError(`${file} is no export of a workspace.`);
    if (type === "header") header = parsed(text) as Header | undefined;
    else if (type === "end") end = parsed(text) as End | undefined;
    else yield { type, text };
  }
  if (!header || !end) throw new UserError(`${file} is cut off: it has no last line that tells its end. Export the workspace again.`);
  return { header, end };
}

/** Undefined for a line that is cut off. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The lines of a file. Node's own reader also ends a line at U+2028 and U+2029, which texts of people may contain. */
async function* linesOf(file: string): AsyncGenerator<string> {
  let rest = "";
  try {
    for await (const piece of createReadStream(file, "utf8")) {
      const lines = (rest + String(piece)).split(/\r?\n/);
      rest = lines.pop()!;
      yield* lines;
    }
  } catch (error) {
    throw new UserError(`The file cannot be read: ${(error as Error).message}.`);
  }
  if (rest !== "") yield rest;
}

/** The SHA-256 of a line. */
export function hashOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** Builds the last line of an export, record by record. */
export class EndBuilder {
  readonly #sum = Buffer.alloc(32);
  readonly #counts: Record<string, number> = {};

  add({ type, text }: RecordLine): void {
    // The order of the records does not matter.
    for (const [at, byte] of hashOf(text).entries()) this.#sum[at]! ^= byte;
    this.#counts[type] = (this.#counts[type] ?? 0) + 1;
  }

  end(): End {
    return { type: "end", counts: this.#counts, checksum: this.#sum.toString("hex") };
  }
}

/**
 * Reads a whole file and compares it with its last line.
 * @throws UserError where the file is not as it was written.
 */
export async function checkFile(file: string): Promise<Frame> {
  const builder = new EndBuilder();
  const records = readRecords(file);
  for (;;) {
    const { value, done } = await records.next();
    if (!done) {
      builder.add(value);
      continue;
    }
    const { counts, checksum } = builder.end();
    const types = Object.keys({ ...counts, ...value.end.counts });
    if (checksum === value.end.checksum && types.every((type) => counts[type] === value.end.counts[type])) return value;
    throw new UserError(`${file} was changed or damaged: its records do not fit its last line.`);
  }
}

/** The number of records. */
export function totalOf({ counts }: End): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}
