/** The encoding base64url (RFC 4648, section 5) without padding. `decode` throws a SyntaxError for a malformed text. */
export const BASE64URL = {
  encode: (bytes: Uint8Array): string => bytes.toBase64({ alphabet: "base64url", omitPadding: true }),
  decode: (text: string): Uint8Array<ArrayBuffer> => Uint8Array.fromBase64(text, { alphabet: "base64url" }),
};
