import { waitUntil } from "cloudflare:workers";
import type { z } from "@hono/zod-openapi";
import { newOperation } from "../platform/db/client.ts";
import type { RedactionSettings } from "../platform/db/columns.ts";
import { logRarely } from "../platform/telemetry/log.ts";
import { Meter } from "../platform/telemetry/meter.ts";
import { truncate } from "../platform/text.ts";
import { monthOf } from "../platform/time.ts";
import { redactFields } from "./fields.ts";
import { createRedactor, isRedacting, NO_REDACTION, type RedactionCounts, type Redactor } from "./redactor.ts";
import { countRedactions } from "./store.ts";

/** Returns the redaction of a request or a turn; undefined if the workspace has nothing masked. @param stored the settings as they are stored. */
export async function redactionOf(env: Env, workspaceId: string, stored: Partial<RedactionSettings>): Promise<Redaction | undefined> {
  const settings = { ...NO_REDACTION, ...stored };
  return isRedacting(settings) ? new Redaction(env, workspaceId, await createRedactor(settings)) : undefined;
}

/** Masks the texts of one request or turn, and counts what was masked. */
export class Redaction {
  /** What is not stored yet. */
  private counts: RedactionCounts = new Map();
  /** A long history leaves the steps for the texts that enter. */
  private readonly redactorOfStored: Redactor;

  constructor(
    private readonly env: Env,
    private readonly workspaceId: string,
    private readonly redactor: Redactor,
  ) {
    this.redactorOfStored = redactor.renewed();
  }

  /** Masks a text that enters the service. */
  text = (text: string): string => {
    const redacted = this.redactor.redact(text);
    if (redacted.counts.size > 0) this.count(redacted.counts);
    return redacted.text;
  };

  /** Masks a text that was stored, perhaps before the settings were changed. It is not counted. */
  storedText = (text: string): string => this.redactorOfStored.redact(text).text;

  /** Whether a text has something that is masked. */
  finds(text: string): boolean {
    return this.redactor.redact(text).counts.size > 0;
  }

  /** Masks the marked fields of a valid input in place. @returns whether anything was masked. */
  fields(schema: z.ZodType, input: unknown): boolean {
    return redactFields(schema, input, this.text);
  }

  /** The response does not wait for the count. What one input adds is stored together. */
  private count(counts: RedactionCounts): void {
    const isFirst = this.counts.size === 0;
    for (const [kind, count] of counts) this.counts.set(kind, (this.counts.get(kind) ?? 0) + count);
    if (isFirst) waitUntil(Promise.resolve().then(() => this.store()));
  }

  private async store(): Promise<void> {
    const counts = this.counts;
    this.counts = new Map();
    try {
      const { db, nowMs } = newOperation(this.env, new Meter(), this.workspaceId);
      const [first, ...rest] = countRedactions(db, this.workspaceId, monthOf(nowMs), counts);
      await db.batch([first!, ...rest]);
    } catch (error) {
      // A count is not worth a repetition: what was masked is masked.
      logRarely("redactions_not_counted", { workspace_id: this.workspaceId }, error);
    }
  }
}

/** The characters that are read beyond the end of a text that is cut. */
const MARGIN = 200;

/** Masks the beginning of a text and cuts it only then, so that a number at the end is found. */
export function redactBeginning(text: string, length: number, redact: ((text: string) => string) | undefined): string {
  if (!redact) return truncate(text, length);
  const masked = redact(truncate(text, length + MARGIN));
  // A mask may be shorter than what it replaces, so the margin, which may hold a part of a number, is always cut off.
  return truncate(masked, text.length > length + MARGIN ? Math.min(length, Math.max(0, masked.length - MARGIN)) : length);
}
