import { UserError } from "../../scripts/shared/cli.ts";
import type { Flags } from "../bench.ts";
import type { Report } from "../report.ts";
import { type Build, buildService } from "../service.ts";
import { benchFiles } from "./files.ts";
import { benchMemory } from "./memory.ts";
import { benchNeighbours } from "./neighbours.ts";
import { benchWrites } from "./writes.ts";

const PARTS: Record<string, (build: Build, flags: Flags) => Promise<Report>> = {
  writes: benchWrites,
  neighbours: benchNeighbours,
  memory: benchMemory,
  files: benchFiles,
};

/** Measures what a stranger and a tenant can do to others at most: what they write, the time they cost, the memory they take. */
export async function benchAbuse(flags: Flags): Promise<Report> {
  const { only = Object.keys(PARTS) } = flags;
  const unknown = only.filter((name) => !PARTS[name]);
  if (unknown.length > 0) throw new UserError(`No part ${unknown.join(", ")}. There are: ${Object.keys(PARTS).join(", ")}.`);
  const build = await buildService();
  const reports: Report[] = [];
  for (const name of only) reports.push(await PARTS[name]!(build, flags));
  return { tables: reports.flatMap(({ tables }) => tables), notes: reports.flatMap(({ notes = [] }) => notes) };
}
