import { parseContentType, withoutComments } from "./media-type.ts";

/** Where HTML must declare its encoding, by its standard. */
const PRESCAN_BYTES = 1024;
const META_CHARSET = /<meta\s[^<>]*?charset\s*=\s*(?:["']\s*)?([\w.:-]+)/i;
const XML_DECLARATION = /^\s*<\?xml\s[^>]*?encoding\s*=\s*["']([\w.:-]+)["']/i;

/**
 * The text of a document: its encoding by byte order mark, header, then its own declaration (HTML's meta, XML's first line), else
 * UTF-8. Bytes that are no text of the encoding become U+FFFD; a label that is unknown counts as none.
 */
export function decodeText(bytes: Uint8Array, contentType: string | null): string {
  const decoder = byMark(bytes) ?? byLabel(parseContentType(contentType).charset) ?? byDeclaration(bytes) ?? new TextDecoder();
  return decoder.decode(bytes);
}

function byMark([first, second, third]: Uint8Array): TextDecoder | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return new TextDecoder();
  if (first === 0xff && second === 0xfe) return new TextDecoder("utf-16le");
  if (first === 0xfe && second === 0xff) return new TextDecoder("utf-16be");
  return undefined;
}

function byDeclaration(bytes: Uint8Array): TextDecoder | undefined {
  const head = withoutComments(String.fromCharCode(...bytes.subarray(0, PRESCAN_BYTES)));
  const label = META_CHARSET.exec(head)?.[1] ?? XML_DECLARATION.exec(head)?.[1];
  // A declaration that could be read as ASCII was not written in UTF-16.
  return label && /^utf-?16/i.test(label) ? new TextDecoder() : byLabel(label ?? null);
}

function byLabel(label: string | null): TextDecoder | undefined {
  if (label === null) return undefined;
  try {
    return new TextDecoder(label);
  } catch {
    return undefined;
  }
}
