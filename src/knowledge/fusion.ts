/** How slowly a rank's worth falls: the usual constant of reciprocal rank fusion, at which no single list decides alone. */
const RANK_OFFSET = 60;

/** Several rankings as one, best first, by reciprocal rank fusion; of two that are equal the earlier list's goes first. */
export function fuse(rankings: readonly (readonly number[])[]): number[] {
  const worth = new Map<number, number>();
  for (const ranking of rankings) {
    for (const [at, id] of ranking.entries()) worth.set(id, (worth.get(id) ?? 0) + 1 / (RANK_OFFSET + at + 1));
  }
  return [...worth].sort(([, a], [, b]) => b - a).map(([id]) => id);
}
