import { isLineNumbers, isNamed } from "./html-rules.ts";
import type { HtmlElement, HtmlNode } from "./html-tree.ts";

/** Parts of a code block that are not code: buttons, and prompts that say what the block is. */
const NO_CODE = new Set(["button", "svg", "style", "script", "template", "noscript", "select", "textarea", "label", "figcaption"]);
const NO_CODE_CLASS = /(?:^|-)(?:copy|copybtn|clipboard|tooltip|sr-only|hidden)(?:-|$)/;
/** Elements that some highlighters put each line in, with no line break between. */
const LINE_TAGS = new Set(["div", "p", "li", "tr"]);
const LINE_CLASS = /(?:^|-)(?:token-line|code-line|view-line|line)(?:-|$)/;
const LANGUAGE_CLASS = /(?:^|\s)(?:language-|lang-|highlight-source-|highlight-|brush:\s?)([a-z0-9+#-]{1,20})(?=[\s;]|$)/i;
const NO_LANGUAGE = new Set(["default", "none", "text", "plaintext", "plain", "auto", "source", "highlight", "console-output"]);

/** A `pre` as a fenced block with its white space; "" where it is empty. `classes` are those of the elements around it. */
export function codeBlock(pre: HtmlElement, classes: string): string {
  const parts: string[] = [];
  collect(pre.children, parts);
  const code = parts
    .join("")
    .replace(/\r\n?/g, "\n")
    .replace(/[\u200b\u2060\ufeff]/g, "")
    .replaceAll("\u00a0", " ");
  const lines = code.split("\n").map((line) => line.trimEnd());
  const first = lines.findIndex((line) => line !== "");
  const last = lines.findLastIndex((line) => line !== "");
  if (first < 0) return "";
  const body = lines.slice(first, last + 1).join("\n");
  const fence = body.includes("```") ? "~~~~" : "```";
  return `${fence}${languageOf(pre, classes)}\n${body}\n${fence}`;
}

function collect(nodes: HtmlNode[], parts: string[]): void {
  for (const node of nodes) {
    if (typeof node === "string") parts.push(node);
    else if (node.tag === "br") parts.push("\n");
    else if (!NO_CODE.has(node.tag) && !isLineNumbers(node) && !isNamed(node, NO_CODE_CLASS)) line(node, parts);
  }
}

function line(element: HtmlElement, parts: string[]): void {
  const isLine = LINE_TAGS.has(element.tag) || (element.tag === "span" && isNamed(element, LINE_CLASS));
  if (isLine && parts.length > 0 && !parts.at(-1)!.endsWith("\n")) parts.push("\n");
  collect(element.children, parts);
}

function languageOf(pre: HtmlElement, classes: string): string {
  const code = pre.children.find((child): child is HtmlElement => typeof child !== "string" && child.tag === "code");
  for (const names of [code?.attributes.get("class"), pre.attributes.get("class"), classes]) {
    const language = LANGUAGE_CLASS.exec(names ?? "")?.[1]?.toLowerCase();
    if (language && !NO_LANGUAGE.has(language)) return language;
  }
  return "";
}
