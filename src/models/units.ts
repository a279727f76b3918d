import { blocks, LIST_ITEM } from "../knowledge/blocks.ts";
import { sentences } from "../knowledge/sentences.ts";
import { terms } from "../knowledge/terms.ts";

/** The smallest piece of a passage that reads well by itself or with its lead-in. */
export interface Unit {
  kind: "sentence" | "item" | "code" | "table" | "heading";
  text: string;
  terms: ReadonlySet<string>;
  /** The block it stands in; the items of one list, or the sentences of one paragraph, share it. */
  block: number;
  /** Whether its block is a list of numbered steps. */
  ordered: boolean;
}

const ORDERED_ITEM = /^[ \t]*\(?\d{1,3}[.)]/;

/** The units of a passage in reading order. */
export function unitsOf(content: string): Unit[] {
  const units: Unit[] = [];
  let block = 0;
  for (const { kind, text } of blocks(content)) {
    if (kind === "text") for (const sentence of sentences(text)) units.push(unit("sentence", sentence.replaceAll(/\s*\n\s*/g, " "), block));
    else if (kind === "list") for (const item of listItems(text)) units.push(unit("item", item, block, ORDERED_ITEM.test(text)));
    else units.push(unit(kind, text, block));
    block++;
  }
  return units;
}

function unit(kind: Unit["kind"], text: string, block: number, ordered = false): Unit {
  return { kind, text, terms: new Set(terms(text)), block, ordered };
}

/** The items of a list, each with its continuation lines. */
function listItems(text: string): string[] {
  const items: string[] = [];
  for (const line of text.split("\n")) {
    if (LIST_ITEM.test(line) || items.length === 0) items.push(line.trimEnd());
    else items[items.length - 1] += `\n${line.trimEnd()}`;
  }
  return items;
}
