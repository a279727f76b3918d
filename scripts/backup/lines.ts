import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { UserError } from "../shared/cli.ts";

/** The first line of an export. */
interface Header {
  type: "header";
  workspace_id: string;
  exported_at: string;
}

/** The last one. */
export interface End {
  type: "end";
  counts: Record<string, number>;
  checksum: string;
}

/** One record, with its line as it stands in the file. */
export interface RecordLine {
  type: string;
  text: string;
}

/** What stands in a file besides its records. */
export interface Frame {
  header: Header;
  end: End;
}

const TYPE = /^\{"type":"(\w+)"/;
const HASH_BYTES = 32;

/**
 * The records of an export, one by one, however many there are; it returns what stands around them.
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

/** The lines of a file. Node's own reader ends one at U+2028 and U+2029 too, which may stand in what people wrote. */
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
export function hashOf(text: string): Uint8Array {
  return createHash("sha256").update(text).digest();
}

/** Adds a hash to others, in an order that does not count. */
export function combine(sum: Uint8Array, hash: Uint8Array): void {
  for (const [at, byte] of hash.entries()) sum[at]! ^= byte;
}

/** No hash yet. */
export function emptySum(): Uint8Array {
  return new Uint8Array(HASH_BYTES);
}

/**
 * Reads a whole file and compares it with its own end.
 * @throws UserError where it is not as it was written.
 */
export async function checkFile(file: string): Promise<Frame> {
  const sum = emptySum();
  const counts: Record<string, number> = {};
  const records = readRecords(file);
  for (;;) {
    const { value, done } = await records.next();
    if (!done) {
      combine(sum, hashOf(value.text));
      counts[value.type] = (counts[value.type] ?? 0) + 1;
      continue;
    }
    const types = new Set([...Object.keys(counts), ...Object.keys(value.end.counts)]);
    const isWhole = [...types].every((type) => counts[type] === value.end.counts[type]);
    if (isWhole && Buffer.from(sum).toString("hex") === value.end.checksum) return value;
    throw new UserError(`${file} was changed or damaged: its records do not fit its last line.`);
  }
}

/** How many records there are. */
export function totalOf({ counts }: End): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}
