import { createContext, Script } from "node:vm";
import { type Attack, attacksOn } from "./attacks.ts";
import type { Pattern } from "./find.ts";
import { parsePattern } from "./grammar.ts";

/** So often a text of the first try repeats its pump: quadratic time is half a millisecond then, linear time some 20 µs. */
const PUMPS = 1_500;
const SUSPECT_MS = 0.1;
/** Four times the text may take four times as long; sixteen times is quadratic. */
const MAX_GROWTH = 8;
/** And so long at least: what ends sooner is measured too coarsely for its growth to say anything. */
const MIN_SLOW_MS = 2;
/** What a text of known length may take: as much as the rest of a request. */
const MAX_BOUNDED_MS = 50;
/** The shortest of so many tries, which a busy machine does not make slower. */
const TRIES = 3;
/** All tries of a linear pattern take half a second at most: what is not over by then does not end. */
const LIMIT_MS = 5_000;
/** Those of a slow one that is given little take three seconds, on a machine that is not busy. */
const BOUNDED_LIMIT_MS = 20_000;

type Regex = Pick<Pattern, "source" | "flags">;

/** An input for which a pattern takes more than linear time, as a person reads it; undefined where none was found. */
export function slowInputOf(regex: Regex, limitMs = LIMIT_MS): string | undefined {
  return firstSlow(regex, limitMs, (run) => growsTooFast(run, 1) && growsTooFast(run, TRIES));
}

/** An input of at most so many characters that takes a pattern too long; undefined where none was found. */
export function slowInputWithin(regex: Regex, maxChars: number): string | undefined {
  return firstSlow(regex, BOUNDED_LIMIT_MS, (run, { pump }) => {
    const pumps = Math.ceil(maxChars / pump.length);
    return run(pumps) > MAX_BOUNDED_MS && shortestOf(TRIES, () => run(pumps)) > MAX_BOUNDED_MS;
  });
}

/** Milliseconds that a text takes whose pump is repeated so often. */
type Run = (pumps: number) => number;

function firstSlow({ source, flags }: Regex, limitMs: number, isSlow: (run: Run, attack: Attack) => boolean): string | undefined {
  const regex = new RegExp(source, flags);
  let tried: Attack | undefined;
  const search = () =>
    attacksOn(parsePattern(source, flags), flags).find((attack) => {
      tried = attack;
      return isSlow((pumps) => msOf(regex, attack, pumps), attack);
    });
  try {
    const slow = new Script("search()").runInContext(createContext({ search }), { timeout: limitMs }) as Attack | undefined;
    return slow && describe(slow);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT" || !tried) throw error;
    return `${describe(tried)}, when the tries had taken ${limitMs} ms`;
  }
}

function growsTooFast(run: Run, tries: number): boolean {
  const once = shortestOf(tries, () => run(PUMPS));
  if (once < SUSPECT_MS) return false;
  const fourfold = shortestOf(tries, () => run(4 * PUMPS));
  return fourfold > MIN_SLOW_MS && fourfold > MAX_GROWTH * once;
}

function shortestOf(tries: number, run: () => number): number {
  return Math.min(...Array.from({ length: tries }, run));
}

/** Goes through a text with all its matches. */
function msOf(regex: RegExp, { prefix, pump, suffix }: Attack, pumps: number): number {
  const text = prefix + pump.repeat(pumps) + suffix;
  const beganAt = performance.now();
  if (regex.global) text.replaceAll(regex, "");
  else text.search(regex);
  return performance.now() - beganAt;
}

function describe({ prefix, pump, suffix }: Attack): string {
  return `${JSON.stringify(prefix)} + ${JSON.stringify(pump)}.repeat(n) + ${JSON.stringify(suffix)}`;
}
