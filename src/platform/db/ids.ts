import { type SQL, sql } from "drizzle-orm";
import { Fault } from "../telemetry/errors.ts";

/** The characters of the time that an identifier begins with. */
const TIME_LENGTH = "00000000-0000".length;
const COUNTER_BITS = 12;
/** The counter starts in the lower half of its range, so that a millisecond has room for 2,048 identifiers at least. */
const COUNTER_START_MASK = 0x7ff;

let lastMs = 0;
let counter = 0;

/**
 * A new UUIDv7 (RFC 9562, method 1: a counter in `rand_a`, so identifiers of one isolate rise). The last byte is the
 * shard, so that an identifier says in which database its record lives.
 * @param nowMs Unix time in milliseconds.
 */
export function newId(shard: number, nowMs: number): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  if (nowMs > lastMs) {
    lastMs = nowMs;
    counter = ((bytes[6]! << 8) | bytes[7]!) & COUNTER_START_MASK;
  } else if (++counter >> COUNTER_BITS) {
    lastMs++;
    counter = 0;
  }
  return compose(bytes, lastMs, counter, shard);
}

/** Forgets the last identifier's time. Tests set the clock forward, and identifiers never run back. */
export function resetIdClock(): void {
  lastMs = 0;
}

/**
 * The UUIDv7 that 16 random bytes make.
 * @param atMs Unix time in milliseconds.
 */
export function seededId(shard: number, atMs: number, random: Uint8Array): string {
  const bytes = Uint8Array.from(random);
  return compose(bytes, atMs, (bytes[6]! << 8) | bytes[7]!, shard);
}

/** SHA-512 gives four times as many. */
const ID_BYTES = 16;

/**
 * Makes identifiers that follow from a seed, four at most, so that work that is done again makes the same ones.
 * @param atMs Unix time in milliseconds.
 * @returns what makes the next one, in a shard; it throws a Fault when a fifth is asked for.
 */
export async function seededIds(seed: string, atMs: number): Promise<(shard: number) => string> {
  const random = new Uint8Array(await crypto.subtle.digest("SHA-512", new TextEncoder().encode(seed)));
  let used = 0;
  return (shard) => {
    const bytes = random.subarray(used * ID_BYTES, ++used * ID_BYTES);
    if (bytes.length < ID_BYTES) throw new Fault("More identifiers are made than one seed gives");
    // A millisecond apart, so that what is made later sorts later.
    return seededId(shard, atMs + used, bytes);
  };
}

function compose(bytes: Uint8Array<ArrayBuffer>, atMs: number, randomA: number, shard: number): string {
  const view = new DataView(bytes.buffer);
  view.setUint32(0, Math.floor(atMs / 2 ** 16));
  view.setUint16(4, atMs % 2 ** 16);
  view.setUint16(6, 0x7000 | (randomA & 0xfff));
  view.setUint8(8, 0x80 | (bytes[8]! & 0x3f));
  view.setUint8(15, shard);
  return formatUuid(bytes);
}

/**
 * What every identifier made at that time or later comes after, and every one from before it comes before, as text.
 * @param atMs Unix time in milliseconds.
 */
export function firstIdAt(atMs: number): string {
  return compose(new Uint8Array(16), atMs, 0, 0).slice(0, TIME_LENGTH);
}

/** The shard that an identifier names: its last byte. */
export function shardOf(id: string): number {
  return Number.parseInt(id.slice(-2), 16);
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Whether a text has the form of our identifiers. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** 16 bytes in the usual text form, lower case. */
export function formatUuid(bytes: Uint8Array): string {
  const hex = bytes.toHex();
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** The 16 bytes of a UUID in text form. */
export function parseUuid(id: string): Uint8Array {
  return Uint8Array.fromHex(id.replaceAll("-", ""));
}

/** Hexadecimal digits of the time that a UUIDv7 begins with, 48 bits, and where the dash stands in them. */
const TIME_DIGITS = 12;
const DASH_AFTER = 8;

/**
 * A new UUIDv7 for each row of the statement that it stands in, for rows that the database itself makes many of. Its last
 * byte is the shard, as with every identifier.
 * @param nowMs Unix time in milliseconds.
 */
export function newIdSql(shard: number, nowMs: number): SQL {
  const digits = nowMs.toString(16).padStart(TIME_DIGITS, "0");
  const time = `${digits.slice(0, DASH_AFTER)}-${digits.slice(DASH_AFTER)}`;
  const variant = sql`substr('89AB', 1 + (random() & 3), 1)`;
  return sql`lower(${time} || '-7' || substr(hex(randomblob(2)), 2) || '-' || ${variant} || substr(hex(randomblob(2)), 2)
    || '-' || hex(randomblob(5)) || printf('%02x', ${shard}))`;
}
