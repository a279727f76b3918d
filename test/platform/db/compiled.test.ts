import { env } from "cloudflare:workers";
import { and, eq, isNull, sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { type Database, newOperation } from "../../../src/platform/db/client.ts";
import { compiled } from "../../../src/platform/db/compiled.ts";
import { agents } from "../../../src/platform/db/schema.ts";
import { jsonIds } from "../../../src/platform/db/sql.ts";
import { Meter } from "../../../src/platform/telemetry/meter.ts";
import { createAgent, createWorkspace } from "../../harness.ts";

interface Wanted {
  status: "active" | "paused" | undefined;
  slugs: string[];
}

const selectAgents = (db: Database, workspaceId: string, { status, slugs }: Wanted) =>
  db
    .select({
      slug: agents.slug,
      hostedPage: agents.hostedPage,
      emailAddress: agents.emailAddress,
      length: sql<number>`length(name)`.as("l"),
    })
    .from(agents)
    .where(
      and(
        eq(agents.workspaceId, workspaceId),
        sql`slug IN ${jsonIds(slugs)}`,
        status ? eq(agents.status, status) : isNull(agents.tokensEndedAt),
      ),
    )
    .orderBy(agents.name);

const compiledAgents = compiled(selectAgents);

test("a compiled statement reads what drizzle's own reads, whatever the shape of its values", async () => {
  const workspace = await createWorkspace();
  for (const [slug, name] of [
    ["a", "Zoe"],
    ["b", "Ann"],
  ])
    await createAgent(workspace, { slug, name });
  const { db } = newOperation(env, new Meter(), workspace.id);
  const wanted: Wanted[] = [
    { status: undefined, slugs: ["a", "b"] },
    { status: undefined, slugs: ["b", "c"] },
    { status: "active", slugs: ["a", "b"] },
    { status: "paused", slugs: ["a"] },
    { status: "active", slugs: ["a"] },
    { status: "active", slugs: [] },
  ];
  const found: string[][] = [];
  for (const one of wanted) {
    const [own, first, again] = await db.batch([
      selectAgents(db, workspace.id, one),
      compiledAgents(db, workspace.id, one),
      compiledAgents(db, workspace.id, one),
    ]);
    expect([first, again]).toEqual([own, own]);
    found.push(first.map(({ slug }) => slug));
  }
  expect(found).toEqual([["b", "a"], ["b"], ["b", "a"], [], ["a"], []]);
});

test("a build that computes with a value, or writes it as text, fails instead of keeping the first value", async () => {
  const db = newOperation(env, new Meter(), (await createWorkspace()).id).db;
  const select = (condition: ReturnType<typeof sql>) => db.select({ id: agents.id }).from(agents).where(condition);
  const builds = [
    (_: Database, number: number) => select(sql`${number * 2} > 1`),
    (_: Database, number: number) => select(sql.raw(`${number} > 1`)),
    (_: Database, number: number) => select(sql`${JSON.stringify({ number })} > 1`),
  ];
  for (const build of builds) expect(() => compiled(build)(db, 1)).toThrow("binds its values");
});
