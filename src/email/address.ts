import { mintToken, type TokenFormat, verifyToken } from "../platform/crypto/signed-token.ts";
import { formatUuid, parseUuid } from "../platform/db/ids.ts";

/** RFC 5321, 4.5.3.1.1. */
const MAX_LOCAL_PART = 64;
/** RFC 5321, 4.5.3.1.3. */
const MAX_ADDRESS_LENGTH = 254;
/** One address in the usual form. What is quoted or holds a comma could be read as two, or as another header. */
const ADDRESS = /^[^\s@<>()[\]\\,;:"\p{Cc}]+@[^\s@<>()[\]\\,;:"\p{Cc}]+$/u;
/** An id of a mail as RFC 5322, 3.6.4, has it, in ASCII. A line holds 998 characters. */
const MESSAGE_ID = /^<[\x21-\x3b\x3d\x3f-\x7e]{1,900}>$/;
/** Lower case and without signs, since mail systems keep neither the case of an address nor all signs. */
const BASE32 = "abcdefghijklmnopqrstuvwxyz234567";
const TOKEN = /^[a-z2-7]{42}$/;
/** What marks our own ids among those of a thread. */
const THREAD_ID = /<t\.([a-z2-7]{42})@[^<>\s]+>/g;
/** The conversation's id, with 80 bits of the MAC: an address has little room, and nobody guesses 80 bits by mail. */
const THREAD_TOKEN: TokenFormat = {
  prefix: "",
  label: "email-thread/1\0",
  payloadBytes: 16,
  macBytes: 10,
  encoding: { encode: toBase32, decode: fromBase32 },
};

/** The address that a mail was sent to: the mailbox, and the part after a plus. */
export interface Recipient {
  mailbox: string;
  tag: string | null;
}

/** Splits `support+tag@example.com`; undefined when it is not an address. */
export function parseRecipient(address: string): Recipient | undefined {
  const [, local, domain] = /^([^@\s]+)@([^@\s]+)$/.exec(address.trim().toLowerCase()) ?? [];
  if (!local || !domain) return undefined;
  const plus = local.indexOf("+");
  if (plus <= 0) return { mailbox: `${local}@${domain}`, tag: null };
  return { mailbox: `${local.slice(0, plus)}@${domain}`, tag: local.slice(plus + 1) };
}

/** Whether mail can be sent to this address. */
export function isMailAddress(address: string): boolean {
  return address.length <= MAX_ADDRESS_LENGTH && ADDRESS.test(address);
}

/**
 * A mail's id if it can be put into headers again, else null. The parser decodes ids, so one may contain line breaks and
 * with them headers of the sender's choice.
 */
export function readMessageId(written: string | undefined): string | null {
  const id = written?.trim() ?? "";
  return MESSAGE_ID.test(id) ? id : null;
}

/** The address for replies to a conversation; null when the mailbox is too long to carry the token. */
export function replyAddress(mailbox: string, token: string): string | null {
  const at = mailbox.lastIndexOf("@");
  const local = `${mailbox.slice(0, at)}+${token}`;
  return local.length > MAX_LOCAL_PART ? null : local + mailbox.slice(at);
}

/** The conversation's id in `References`, which mail programs repeat in replies. */
export function threadId(mailbox: string, token: string): string {
  return `<t.${token}@${mailbox.slice(mailbox.lastIndexOf("@") + 1)}>`;
}

/** The tokens in the address that a mail was sent to, and in the ids that it replies to. */
export function tokensOf(tag: string | null, ...threadHeaders: (string | undefined)[]): string[] {
  const inHeaders = threadHeaders.flatMap((header) => [...(header ?? "").matchAll(THREAD_ID)].map(([, token]) => token!));
  return [...(tag && TOKEN.test(tag) ? [tag] : []), ...inHeaders];
}

/** The token of a conversation, 42 characters that nobody else can make. */
export function mintThreadToken(conversationId: string, secret: string): Promise<string> {
  return mintToken(THREAD_TOKEN, parseUuid(conversationId), secret);
}

/** The conversation that a token names, if one of the secrets signed it. */
export async function verifyThreadToken(token: string, secrets: readonly string[]): Promise<string | undefined> {
  const verified = await verifyToken(THREAD_TOKEN, token, secrets);
  return verified && formatUuid(verified.payload);
}

/** RFC 4648, section 6, in lower case; 26 bytes fill 42 letters, so the last two bits are zero. */
function toBase32(bytes: Uint8Array): string {
  let [bits, value, text] = [0, 0, ""];
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xfff;
    for (bits += 8; bits >= 5; bits -= 5) text += BASE32[(value >> (bits - 5)) & 31];
  }
  return bits > 0 ? text + BASE32[(value << (5 - bits)) & 31] : text;
}

function fromBase32(text: string): Uint8Array {
  const bytes: number[] = [];
  let [bits, value] = [0, 0];
  for (const letter of text) {
    value = ((value << 5) | BASE32.indexOf(letter)) & 0xfff;
    bits += 5;
    if (bits >= 8) bytes.push((value >> (bits -= 8)) & 0xff);
  }
  return new Uint8Array(bytes);
}
