import { expect, test } from "vitest";
import { createWorkspace, query } from "../harness.ts";

test("a workspace keeps its latest 20,000 entries, and those of erasures for ever", async () => {
  const workspace = await createWorkspace();
  const add = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20010)
    INSERT INTO audit_log (id, workspace_id, actor, action, created_at, expires_at)
    SELECT printf('0-%05d-', i) || ?, ?, 'operator', 'agent.updated', i, CASE WHEN i = 1 THEN NULL ELSE 1 END FROM n`;
  await query(workspace.id, add, workspace.id, workspace.id);
  const { body } = await workspace.call("GET", "/audit");
  expect(body.total).toBe(20_000);
  const first = "SELECT substr(id, 1, 7) AS id FROM audit_log WHERE workspace_id = ? ORDER BY id LIMIT 2";
  const [kept, oldest] = await query<{ id: string }>(workspace.id, first, workspace.id);
  expect([kept!.id, oldest!.id > "0-00010"]).toEqual(["0-00001", true]);
});

test("the audit log since a time before 1970 has all entries", async () => {
  const workspace = await createWorkspace();
  await workspace.call("POST", "/agents", { name: "Support" });
  const [all, since] = [await workspace.call("GET", "/audit"), await workspace.call("GET", "/audit?since=0001-01-01T00:00:00Z")];
  expect([all.body.total > 0, since.body.total]).toEqual([true, all.body.total]);
});

test("the audit log as CSV after a cursor has all entries of its part", async () => {
  const workspace = await createWorkspace();
  const add = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1110)
    INSERT INTO audit_log (id, workspace_id, actor, action, created_at, expires_at)
    SELECT printf('00000000-%04x', i) || substr(?, 14), ?, 'operator', 'agent.updated', i, 1 FROM n`;
  await query(workspace.id, add, workspace.id, workspace.id);
  const first = await workspace.call("GET", "/audit?limit=100");
  const csv = await workspace.call("GET", `/audit?cursor=${first.body.next_cursor}`, undefined, { Accept: "text/csv" });
  expect(csv.headers.get("X-Next-Cursor")).toBeNull();
  expect(csv.body.trim().split("\r\n")).toHaveLength(first.body.total - 100);
});
