import { firstBytesOf } from "../../cut.ts";
import { type Passage, passageText } from "../passage.ts";

/** Raised whenever the embedded text is made differently, so that everything is embedded anew. */
export const TEXT_VERSION = 1;
/** No tokenizer makes more tokens of a text than it has bytes, and the usual models read 8,191 or more. */
const MAX_BYTES = 8_000;
/** With the agent's id before it a vector's name fills the 64 bytes that it may have: nobody finds two texts with one. */
const NAME_BYTES = 20;

/** The text of a chunk that its vector is made of. */
export function embeddedText(chunk: Pick<Passage, "title" | "heading" | "content">): string {
  return firstBytesOf(passageText(chunk), MAX_BYTES);
}

/** What is asked, as it is embedded. */
export function embeddedQuestion(question: string): string {
  return firstBytesOf(question.trim(), MAX_BYTES);
}

/** The name of a text's vector: another one for another text or version. 27 letters of base64url. */
export async function vectorName(version: string, text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${version}\n${text}`));
  return new Uint8Array(digest, 0, NAME_BYTES).toBase64({ alphabet: "base64url", omitPadding: true });
}
