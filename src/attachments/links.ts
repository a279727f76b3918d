import { secretValues } from "../platform/config.ts";
import { BASE64URL } from "../platform/crypto/base64url.ts";
import { mintToken, type TokenFormat, verifyToken } from "../platform/crypto/signed-token.ts";
import { formatUuid, parseUuid } from "../platform/db/ids.ts";
import type { AppContext } from "../platform/http/context.ts";
import { toTimestamp } from "../platform/http/fields.ts";
import { HOUR_MS } from "../platform/time.ts";
import type { Attachment } from "./wire.ts";

const ID_BYTES = 16;
/** Milliseconds fit into 6 bytes until the year 10889. */
const TIME_BYTES = 6;

/** The payload holds the attachment's id and the time at which its address ends. */
const FORMAT: TokenFormat = {
  prefix: "at_",
  label: "attachment/1\0",
  payloadBytes: ID_BYTES + TIME_BYTES,
  macBytes: 16,
  encoding: BASE64URL,
};

/** An address is the same for this long, so that browsers do not load a file again with each list of messages. It ends as much later. */
const SAME_FOR_MS = 12 * HOUR_MS;

/** The path of the addresses of files. */
const FILES_PATH = "/widget/v1/attachments/";

/** Returns the records with the addresses of their attachments. */
export function withAddresses<Record extends { attachments: Attachment[] }>(c: AppContext, records: readonly Record[]): Promise<Record[]> {
  return Promise.all(
    records.map(async (record) => {
      if (record.attachments.length === 0) return record;
      return { ...record, attachments: await Promise.all(record.attachments.map((one) => withAddress(c, one))) };
    }),
  );
}

/** Returns an attachment with a signed address, which ends after 12 to 24 hours. */
export async function withAddress(c: AppContext, attachment: Attachment): Promise<Attachment> {
  const expiresAtMs = (Math.floor(Date.now() / SAME_FOR_MS) + 2) * SAME_FOR_MS;
  const token = await mintFileToken(attachment.id, expiresAtMs, secretValues(c.env.KEY_SECRET)[0]);
  return { ...attachment, url: new URL(FILES_PATH + token, c.req.url).href, expires_at: toTimestamp(expiresAtMs) };
}

/** Signs the address of a file. */
export function mintFileToken(attachmentId: string, expiresAtMs: number, secret: string): Promise<string> {
  const payload = new Uint8Array(FORMAT.payloadBytes);
  payload.set(parseUuid(attachmentId));
  const time = new DataView(payload.buffer, ID_BYTES);
  time.setUint16(0, Math.floor(expiresAtMs / 2 ** 32));
  time.setUint32(2, expiresAtMs % 2 ** 32);
  return mintToken(FORMAT, payload, secret);
}

/** Reads the token of an address; undefined if it is not genuine or has ended. */
export async function verifyFileToken(
  token: string,
  secrets: readonly string[],
  nowMs: number,
): Promise<{ attachmentId: string; expiresAtMs: number } | undefined> {
  const verified = await verifyToken(FORMAT, token, secrets);
  if (!verified) return undefined;
  const { payload } = verified;
  const time = new DataView(payload.buffer, payload.byteOffset + ID_BYTES, TIME_BYTES);
  const expiresAtMs = time.getUint16(0) * 2 ** 32 + time.getUint32(2);
  return nowMs < expiresAtMs ? { attachmentId: formatUuid(payload.subarray(0, ID_BYTES)), expiresAtMs } : undefined;
}
