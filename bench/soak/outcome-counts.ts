import type { Table } from "../report.ts";
import type { Finding } from "./check.ts";
import type { SoakRequest } from "./load.ts";

/** The outcomes of one kind of requests. */
type Outcomes = Record<
  "sent" | "acknowledged" | "of these repeated" | "response lost, not repeated" | "lost" | "half done" | "doubled",
  number
>;

/** The outcomes by kind. */
export type OutcomeCounts = Record<string, Outcomes>;

/** Counts the outcomes of requests. @param events how many events were received. */
export function countOutcomes(requests: readonly SoakRequest[], events: number, findings: readonly Finding[]): OutcomeCounts {
  const rowOf = (name: string, counts: { sent: number; acknowledged: number; repeated: number; unknown: number }): Outcomes => {
    const found = (problem: Finding["problem"]) => findings.filter((one) => one.kind === name && one.problem === problem).length;
    return {
      sent: counts.sent,
      acknowledged: counts.acknowledged,
      "of these repeated": counts.repeated,
      "response lost, not repeated": counts.unknown,
      lost: found("lost"),
      "half done": found("half"),
      doubled: found("doubled"),
    };
  };
  const all = (count: number) => ({ sent: count, acknowledged: count, repeated: 0, unknown: 0 });
  const kinds = [...Map.groupBy(requests, ({ kind }) => kind)].map(([kind, own]) => {
    const acknowledged = own.filter(({ outcome }) => outcome === "acknowledged");
    const repeated = acknowledged.filter(({ attempts }) => attempts > 1).length;
    const unknown = own.filter(({ outcome }) => outcome === "unknown").length;
    return [kind, rowOf(kind, { sent: own.length, acknowledged: acknowledged.length, repeated, unknown })] as const;
  });
  return { ...Object.fromEntries(kinds), events: rowOf("events", all(events)), counters: rowOf("counters", all(3)) };
}

/** Adds counts to a total. */
export function addCounts(total: OutcomeCounts, more: OutcomeCounts): void {
  for (const [kind, outcomes] of Object.entries(more)) {
    const own = (total[kind] ??= { ...outcomes, ...zeros(outcomes) });
    for (const [name, count] of Object.entries(outcomes)) own[name as keyof Outcomes] += count;
  }
}

function zeros(outcomes: Outcomes): Outcomes {
  return Object.fromEntries(Object.keys(outcomes).map((name) => [name, 0])) as Outcomes;
}

/** Formats counts as a table. */
export function outcomeTable(counts: OutcomeCounts): Table {
  return Object.entries(counts)
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([kind, outcomes]) => ({ "": kind, ...outcomes }));
}
