import { firstBytesOf } from "../../cut.ts";
import type { Said } from "../model.ts";

/** English has about four bytes a token, most other writing systems three or less: rather too many than too few. */
const BYTES_PER_TOKEN = 3;
const CUT = "…";

const encoder = new TextEncoder();

/** At least as many tokens as any usual model makes of a text. */
export function estimateTokens(text: string): number {
  return Math.ceil(encoder.encode(text).length / BYTES_PER_TOKEN);
}

/** A text's beginning, of so many tokens at most. */
export function cutToTokens(text: string, tokens: number): string {
  const beginning = firstBytesOf(text, tokens * BYTES_PER_TOKEN);
  return beginning === text ? text : beginning + CUT;
}

/** The newest of the things that fit together, in their order. */
function takeNewest<Thing>(things: readonly Thing[], tokens: number, costOf: (thing: Thing) => number): Thing[] {
  let left = tokens;
  let from = things.length;
  while (from > 0 && costOf(things[from - 1]!) <= left) left -= costOf(things[--from]!);
  return things.slice(from);
}

/** The newest turns that fit: each is a visitor's message with all that was answered to it, and is kept or left whole. */
export function trimHistory(history: readonly Said[], tokens: number): Said[] {
  const turns: Said[][] = [];
  for (const said of history) {
    if (said.by === "visitor") turns.push([said]);
    else turns.at(-1)?.push(said);
  }
  return takeNewest(turns, tokens, (turn) => turn.reduce((sum, { text }) => sum + estimateTokens(text), 0)).flat();
}
