/** What one request cost at one size. */
export interface Cost {
  /** The first one ever, with what is cold then. */
  firstMs: number;
  p50Ms: number;
  /** D1's rows, as the service logs them. */
  rowsRead: number | undefined;
}

export interface Comparison {
  label: string;
  small: Cost;
  large: Cost;
  /** The middle of the ratios of neighbouring rounds. */
  ratio: number;
}

/** A Markdown table of what was measured. */
export function comparisonTable(comparisons: readonly Comparison[], small: number, large: number): string {
  const sizes = [small, large].map((size) => size.toLocaleString("en"));
  const rows = comparisons.map(({ label, small, large, ratio }) => [
    label,
    ...[small, large].map(({ p50Ms }) => p50Ms.toFixed(2)),
    ratio.toFixed(2),
    ...[small, large].map(({ rowsRead }) => String(rowsRead ?? "?")),
    large.firstMs.toFixed(1),
  ]);
  const head = ["request", ...sizes.map((size) => `p50 ms, ${size}`), "ratio", ...sizes.map((size) => `rows read, ${size}`)];
  head.push(`first, ms, ${sizes[1]}`);
  return [head, head.map((_, at) => (at === 0 ? "---" : "---:")), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
}
