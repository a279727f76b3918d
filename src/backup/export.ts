import { dbFor } from "../platform/db/client.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
import { ownKeyIds } from "./import.ts";
import { schemaVersion } from "./records.ts";
import { readPage, type Walk } from "./walk.ts";
import { beginProgress, type End, FORMAT, type Header, type Progress, toCursor } from "./wire.ts";

/** Which workspace is exported. */
export interface ExportOperation {
  env: Env;
  meter: Meter;
  workspace: { id: string; slug: string };
  nowMs: number;
}

/**
 * Lines of an export: its header, records, and at last its end, or a line with the cursor that the next call goes on with.
 * One page at a time is held, and only when the reader wants it.
 * @param from where an earlier call stopped.
 */
export function exportLines(op: ExportOperation, from: Progress | undefined, pages: number): ReadableStream<Uint8Array> {
  const lines = linesOf(op, from, pages);
  const encoder = new TextEncoder();
  return new ReadableStream({
    type: "bytes",
    async pull(controller) {
      const { value, done } = await lines.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    async cancel() {
      await lines.return();
    },
  });
}

async function* linesOf(op: ExportOperation, from: Progress | undefined, pages: number): AsyncGenerator<string, void> {
  const { env, meter, workspace } = op;
  const walk: Walk = { env, meter, db: dbFor(env, workspace.id, meter), workspaceId: workspace.id };
  let progress = from ?? beginProgress(crypto.randomUUID());
  if (!from) yield `${JSON.stringify(await headerOf(op, progress.exportId))}\n`;
  for (let left = pages; left > 0; left--) {
    const page = await readPage(walk, progress);
    if (!page) {
      const { counts, checksum } = progress;
      yield `${JSON.stringify({ type: "end", counts, checksum } satisfies End)}\n`;
      return;
    }
    ({ progress } = page);
    if (page.lines.length > 0) yield `${page.lines.join("\n")}\n`;
  }
  yield `${JSON.stringify({ type: "continue", cursor: await toCursor(env, workspace.id, progress) })}\n`;
}

async function headerOf({ env, workspace, nowMs }: ExportOperation, exportId: string): Promise<Header> {
  return {
    type: "header",
    format: FORMAT,
    schema: await schemaVersion(),
    export_id: exportId,
    workspace_id: workspace.id,
    slug: workspace.slug,
    exported_at: new Date(nowMs).toISOString(),
    key_ids: await ownKeyIds(env),
  };
}
