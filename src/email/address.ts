import { mintToken, type TokenFormat, verifyToken } from "../platform/crypto/signed-token.ts";
import { formatUuid, parseUuid } from "../platform/db/ids.ts";

/** RFC 5321, 4.5.3.1.1. */
const MAX_LOCAL_PART = 64;
/** RFC 5321, 4.5.3.1.3. */
const MAX_ADDRESS_LENGTH = 254;
/** One address in the usual form. Quotes and commas are not allowed: they could be read as a second address or another header. */
const ADDRESS = /^[^\s@<>()[\]\\,;:"\p{Cc}]+@[^\s@<>()[\]\\,;:"/?#\p{Cc}]+$/u;
/** The id of a mail as in RFC 5322, 3.6.4, in ASCII and short enough for a line of 998 characters. */
const MESSAGE_ID = /^<[\x21-\x3b\x3d\x3f-\x7e]{1,900}>$/;
/** Lower case letters and digits only, since mail systems keep neither the case of an address nor all other characters. */
const BASE32 = "abcdefghijklmnopqrstuvwxyz234567";
const TOKEN = /^[a-z2-7]{42}$/;
/** A message id that `threadId` made, among those of a thread. */
const THREAD_ID = /<t\.([a-z2-7]{42})@[^<>\s]+>/g;
/** The conversation's id with 80 bits of the MAC: an address has little room, and 80 bits cannot be guessed by mail. */
const THREAD_TOKEN: TokenFormat = {
  prefix: "",
  label: "email-thread/1\0",
  payloadBytes: 16,
  macBytes: 10,
  encoding: { encode: toBase32, decode: fromBase32 },
};

/** A way to read the address that a mail was sent to: the mailbox, and the tag after a plus sign. */
export interface Recipient {
  mailbox: string;
  tag: string | null;
}

/**
 * Returns the ways to read an address, the longest mailbox first: `help+eu+tag@example.com` may be the mailbox `help+eu` with a tag, or
 * `help` with a longer one. The list is empty for a text that is not an address.
 */
export function recipientsOf(address: string): Recipient[] {
  const [, local, domain] = /^([^@\s]+)@([^@\s]+)$/.exec(address.trim().toLowerCase()) ?? [];
  if (!local || !domain) return [];
  const pluses = [...new Set([local.lastIndexOf("+"), local.indexOf("+")])].filter((plus) => plus > 0);
  const tagged = pluses.map((plus) => ({ mailbox: `${local.slice(0, plus)}@${domain}`, tag: local.slice(plus + 1) }));
  return [{ mailbox: `${local}@${domain}`, tag: null }, ...tagged];
}

/** Whether mail can be sent to this address. */
export function isMailAddress(address: string): boolean {
  return address.length <= MAX_ADDRESS_LENGTH && ADDRESS.test(address);
}

/**
 * The id of a mail if it can be written into a header, otherwise null. The parser decodes ids, so an id may contain line breaks and,
 * after them, headers of the sender's choice.
 */
export function readMessageId(written: string | null | undefined): string | null {
  const id = written?.trim() ?? "";
  return MESSAGE_ID.test(id) ? id : null;
}

/** The address for replies to a conversation; null if the mailbox is too long to carry the token. */
export function replyAddress(mailbox: string, token: string): string | null {
  const at = mailbox.lastIndexOf("@");
  const local = `${mailbox.slice(0, at)}+${token}`;
  return local.length > MAX_LOCAL_PART ? null : local + mailbox.slice(at);
}

/** The message id that stands for a conversation in `References`. Mail programs repeat it in replies. */
export function threadId(mailbox: string, token: string): string {
  return `<t.${token}@${mailbox.slice(mailbox.lastIndexOf("@") + 1)}>`;
}

/** The tokens in the tag of the recipient's address and in the headers that name the mails before. */
export function tokensOf(tag: string | null, ...threadHeaders: (string | undefined)[]): string[] {
  const inHeaders = threadHeaders.flatMap((header) => [...(header ?? "").matchAll(THREAD_ID)].map(([, token]) => token!));
  return [...(tag && TOKEN.test(tag) ? [tag] : []), ...inHeaders];
}

/** The token of a conversation: 42 characters, signed with the secret. */
export function mintThreadToken(conversationId: string, secret: string): Promise<string> {
  return mintToken(THREAD_TOKEN, parseUuid(conversationId), secret);
}

/** The id of the conversation that a token names; undefined if none of the secrets signed it. */
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
