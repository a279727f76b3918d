import type { RE2JS } from "re2js";

/*
 * Workspaces write patterns, and visitors write the texts that they are matched against. JavaScript's own regular expressions can take
 * exponential time, so RE2 matches the patterns, in linear time.
 */

/** Compiles a pattern; undefined if RE2 does not know its syntax, or it has more than `maxInstructions`. */
export async function compilePattern(pattern: string, maxInstructions: number): Promise<RE2JS | undefined> {
  // Imported here, since few workspaces have patterns.
  const { RE2JS } = await import("re2js");
  try {
    const matcher = RE2JS.compile(RE2JS.translateRegExp(pattern));
    return matcher.programSize() <= maxInstructions ? matcher : undefined;
  } catch {
    return undefined;
  }
}

/** Why a pattern cannot be used, as an error tells it. */
export const PATTERN_REFUSAL =
  "RE2 cannot match it, because it has lookaround or a reference to a group, or is too large: write a simpler one";
