import { Fault } from "../telemetry/errors.ts";

/** The length of the time at the start of an id. */
const TIME_LENGTH = "00000000-0000".length;
const COUNTER_BITS = 12;
/** The counter starts in the lower half of its range, so that a millisecond has room for at least 2,048 ids. */
const COUNTER_START_MASK = 0x7ff;

let lastMs = 0;
let counter = 0;

/**
 * Creates a UUIDv7 (RFC 9562, method 1: a counter in `rand_a`, so that the ids of one isolate increase). The last byte is the shard, which
 * determines the database of the record.
 */
export function newId(shard: number, nowMs: number): string {
  const bytes = randomBytes();
  if (nowMs > lastMs) {
    lastMs = nowMs;
    counter = ((bytes[6]! << 8) | bytes[7]!) & COUNTER_START_MASK;
  } else if (++counter >> COUNTER_BITS) {
    lastMs++;
    counter = 0;
  }
  return composeId(bytes, lastMs, counter, shard);
}

const ID_BYTES = 16;
/** Random bytes are made for many ids at once, since a call into the runtime costs more than the bytes. */
const POOL_BYTES = 256 * ID_BYTES;
let pool = new Uint8Array();
let poolUsed = 0;

function randomBytes(): Uint8Array {
  if (poolUsed === pool.length) {
    pool = crypto.getRandomValues(new Uint8Array(POOL_BYTES));
    poolUsed = 0;
  }
  return pool.subarray(poolUsed, (poolUsed += ID_BYTES));
}

/** Forgets the time of the last id, for tests that set the clock forward: otherwise later ids would keep that time. */
export function resetIdClock(): void {
  lastMs = 0;
}

/** Returns the UUIDv7 of a time and 16 random bytes. */
export function seededId(shard: number, atMs: number, random: Uint8Array): string {
  const bytes = Uint8Array.from(random);
  return composeId(bytes, atMs, (bytes[6]! << 8) | bytes[7]!, shard);
}

/**
 * Derives ids from a seed, so that repeated work creates the same ones.
 * @returns a function that gives the next id, in a shard; it throws a Fault at the fifth call.
 */
export async function seededIds(seed: string, atMs: number): Promise<(shard: number) => string> {
  // SHA-512 gives enough for four ids.
  const random = new Uint8Array(await crypto.subtle.digest("SHA-512", new TextEncoder().encode(seed)));
  let used = 0;
  return (shard) => {
    const bytes = random.subarray(used * ID_BYTES, ++used * ID_BYTES);
    if (bytes.length < ID_BYTES) throw new Fault("A seed gives no more than four ids");
    // The ids are a millisecond apart, so that they sort in the order of creation.
    return seededId(shard, atMs + used, bytes);
  };
}

/** Writes the time and the shard into the random bytes, and returns them as a UUID. */
function composeId(bytes: Uint8Array, atMs: number, randomA: number, shard: number): string {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  view.setUint32(0, Math.floor(atMs / 2 ** 16));
  view.setUint16(4, atMs % 2 ** 16);
  view.setUint16(6, 0x7000 | (randomA & 0xfff));
  view.setUint8(8, 0x80 | (bytes[8]! & 0x3f));
  view.setUint8(15, shard);
  return formatUuid(bytes);
}

/** Returns a prefix that sorts before every id created at `atMs` or later, and after every earlier one. */
export function firstIdAt(atMs: number): string {
  return composeId(new Uint8Array(16), Math.max(0, atMs), 0, 0).slice(0, TIME_LENGTH);
}

/** Returns the time in an id, in Unix milliseconds. */
export function timeOf(id: string): number {
  return Number.parseInt(id.slice(0, TIME_LENGTH).replace("-", ""), 16);
}

/** Returns the shard of an id: its last byte. */
export function shardOf(id: string): number {
  return Number.parseInt(id.slice(-2), 16);
}

/** Where an id has eight random hexadecimal digits. */
const RANDOM_DIGITS = [24, 32] as const;

/** Returns a number from 0 to 1 that is always the same for an id: its random part, as a fraction. */
export function fractionOf(id: string): number {
  return Number.parseInt(id.slice(...RANDOM_DIGITS), 16) / 2 ** 32;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Returns whether a text is an id in canonical form. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** Formats the 16 bytes of a UUID as text, in lower case. */
export function formatUuid(bytes: Uint8Array): string {
  const hex = bytes.toHex();
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** Parses the text of a UUID into its 16 bytes. */
export function parseUuid(id: string): Uint8Array {
  return Uint8Array.fromHex(id.replaceAll("-", ""));
}
