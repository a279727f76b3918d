import { PlainError } from "../dev/flags.ts";

/**
 * The CPU time of a start, in milliseconds, out of what `wrangler check startup` prints.
 * @throws PlainError when it does not say so.
 */
export function activeMs(output: string): number {
  const milliseconds = /Active: ([\d.]+) ms\b/.exec(output)?.[1];
  if (milliseconds === undefined) throw new PlainError(`wrangler did not say how long the Worker takes to start:\n${output}`);
  return Number(milliseconds);
}
