import { cleanLine } from "./clean.ts";
import type { HtmlElement } from "./html-tree.ts";

/** Names of what an image is, not of what it shows. */
const SAYS_NOTHING =
  /^(?:(?:the|an?|site|our|my)\s+)?(?:image|img|picture|photo|icon|logo|avatar|banner|screenshot|thumbnail|placeholder|spacer|figure|graphic|diagram|hero|gif|badge|illustration)s?[\s\d:._-]*$/i;
const FILE_NAME = /^\S+\.(?:png|jpe?g|gif|svg|webp|avif|bmp|ico)$|^(?:IMG|DSC|image|screen ?shot)[-_ ]?\d[\w .-]*$|^https?:/i;
const MAX_ALT_CHARS = 300;

/** What stands in the text for an image: its description where that says something, else "". Spaces around keep words apart. */
export function imageText({ attributes }: HtmlElement): string {
  const alt = cleanLine(attributes.get("alt") ?? "");
  const isDecoration = ["presentation", "none"].includes(attributes.get("role") ?? "") || attributes.get("width") === "1";
  if (alt === "" || isDecoration || alt.length > MAX_ALT_CHARS || SAYS_NOTHING.test(alt) || FILE_NAME.test(alt)) return "";
  return ` ${alt} `;
}
