import { env } from "cloudflare:workers";
import { expect } from "vitest";
import type { OperatorOperation } from "../../src/administration/operator-audit-store.ts";
import type { Header } from "../../src/backup/wire.ts";
import { newOperation } from "../../src/platform/db/client.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { type Answer, deliver, query, send } from "../harness.ts";

/** A line of an export. */
export interface Line {
  type: string;
  record: Record<string, any>;
}

/** A parsed export. */
export interface ExportFile {
  header: Record<string, any>;
  records: Line[];
  end: Record<string, any>;
  /** The number of responses that it was read from. */
  answers: number;
}

const MAX_RECORDS = 500;

/** Exports a workspace with a given number of pages per response; `meanwhile` runs between two responses. */
export async function exportWorkspace(workspaceId: string, pages = 200, meanwhile?: () => Promise<unknown>): Promise<ExportFile> {
  const lines: any[] = [];
  let cursor: string | undefined;
  for (let answers = 1; ; answers++) {
    const more = cursor === undefined ? "" : `&cursor=${cursor}`;
    const path = `/operator/v1/workspaces/${workspaceId}/export?pages=${pages}${more}`;
    const { status, headers, body } = await send("GET", path, { token: env.OPERATOR_TOKEN });
    expect([status, headers.get("Content-Type")]).toEqual([200, "application/x-ndjson"]);
    for (const line of body.trimEnd().split("\n")) lines.push(JSON.parse(line));
    const last = lines.pop();
    if (last.type === "end") return { header: lines[0], records: lines.slice(1), end: last, answers };
    expect(last.type).toBe("continue");
    ({ cursor } = last);
    await meanwhile?.();
  }
}

/** Sends some records of an export. */
export function sendRecords(file: ExportFile, records: readonly Line[]): Promise<Answer> {
  const path = `/operator/v1/workspaces/${file.header["workspace_id"]}/import`;
  return send("POST", path, { token: env.OPERATOR_TOKEN, body: { header: file.header, records } });
}

/** Requests the comparison with the end of the export, once. */
export function complete(file: ExportFile): Promise<Answer> {
  const path = `/operator/v1/workspaces/${file.header["workspace_id"]}/import/complete`;
  return send("POST", path, { token: env.OPERATOR_TOKEN, body: { header: file.header, end: file.end } });
}

/** Imports an export as the command does: all its records in their order, then the comparison. Returns all warnings. */
export async function importFile(file: ExportFile, batch = MAX_RECORDS): Promise<string[]> {
  const warnings = new Set<string>();
  for (let at = 0; at < file.records.length; at += batch) {
    const answer = await sendRecords(file, file.records.slice(at, at + batch));
    expect([answer.status, answer.body]).toEqual([200, { state: "importing", warnings: expect.any(Array) }]);
    for (const warning of answer.body.warnings) warnings.add(warning);
  }
  const answer = await complete(file);
  expect([answer.status, answer.body.state]).toEqual([200, "complete"]);
  return [...warnings];
}

/** Erases a workspace, or the part of it that an unfinished import has stored. Does nothing if there is neither. */
export async function eraseWhole(workspaceId: string): Promise<void> {
  const path = `/operator/v1/workspaces/${workspaceId}`;
  for (const one of [`${path}/import`, path]) await send("DELETE", one, { token: env.OPERATOR_TOKEN });
  await finishErasure(workspaceId);
}

/** Delivers the wake-ups of an erasure until it is over. */
export async function finishErasure(workspaceId: string): Promise<void> {
  for (let run = 0; run < 20; run++) {
    await deliver("support-agent-erasure", { workspaceId });
    if ((await query(workspaceId, "SELECT id FROM workspaces WHERE id = ?", workspaceId)).length === 0) return;
  }
  throw new Error("The erasure does not end");
}

/** A request of an import, for the functions behind it. */
export function importOperation(header: Header): OperatorOperation {
  const by = { actor: "token/0", operation: "importWorkspace", requestId: "" };
  return { ...newOperation(env, new Meter(), header.workspace_id), by };
}
