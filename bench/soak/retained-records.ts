import type { Finding } from "./check.ts";

/** A record that is listed, and the time from which its retention counts. */
export interface Listed {
  id: string;
  atMs: number;
}

/** The time that a record may be kept for beyond its retention, and may be missing before it ends. */
const MARGIN_MS = 2 * 60 * 60_000;

/** The records that were checked and must be kept until their retention ends, and no longer. */
export class RetainedRecords {
  private readonly kind: "conversation" | "lead";
  private readonly retentionMs: number;
  private readonly entries = new Map<string, number>();

  constructor(kind: "conversation" | "lead", retentionMs: number) {
    this.kind = kind;
    this.retentionMs = retentionMs;
  }

  get ids(): ReadonlySet<string> {
    return new Set(this.entries.keys());
  }

  /** Finds what is missing though it should be kept, and what is kept though it should be deleted. */
  check(listed: readonly Listed[], nowMs: number): Finding[] {
    const ids = new Set(listed.map(({ id }) => id));
    const cutoffMs = nowMs - this.retentionMs;
    const missing = [...this.entries].filter(([id, atMs]) => !ids.has(id) && atMs > cutoffMs + MARGIN_MS);
    const expired = listed.filter(({ atMs }) => atMs < cutoffMs - MARGIN_MS);
    return [
      ...missing.map(([id]): Finding => ({ kind: "retention", problem: "lost", text: `${this.kind} ${id} is gone before its retention` })),
      ...expired.map(({ id }): Finding => ({ kind: "retention", problem: "half", text: `${this.kind} ${id} outlives its retention` })),
    ];
  }

  /** Replaces the entries by what is listed. */
  update(listed: readonly Listed[]): void {
    this.entries.clear();
    for (const { id, atMs } of listed) this.entries.set(id, atMs);
  }
}
