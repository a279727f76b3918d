import { UserError } from "../../scripts/shared/cli.ts";
import type { Report } from "../report.ts";
import { type Build, buildService, createSecrets } from "../service.ts";
import { benchMemory } from "./memory.ts";
import { benchNeighbours } from "./neighbours.ts";
import { benchWrites } from "./writes.ts";

/** The service that is abused. */
export interface Abused {
  build: Build;
  bindings: Record<string, string>;
  operatorToken: string;
  /** For temporary files. */
  directory: string;
}

const PARTS: Record<string, (abused: Abused) => Promise<Report>> = {
  writes: benchWrites,
  neighbours: benchNeighbours,
  memory: benchMemory,
};

/** What a stranger and a tenant can do to others at most: what they write, the time they cost, the memory they take. */
export async function benchAbuse(directory: string, only = Object.keys(PARTS)): Promise<Report> {
  const unknown = only.filter((name) => !PARTS[name]);
  if (unknown.length > 0) throw new UserError(`No part ${unknown.join(", ")}. There are: ${Object.keys(PARTS).join(", ")}.`);
  const secrets = createSecrets();
  const bindings = { ...secrets, ALLOW_PRIVATE_TARGETS: "true" };
  const abused = { build: await buildService(directory), bindings, operatorToken: secrets.OPERATOR_TOKEN, directory };
  const reports: Report[] = [];
  for (const name of only) reports.push(await PARTS[name]!(abused));
  return {
    tables: reports.flatMap(({ tables }) => tables),
    notes: reports.flatMap(({ notes }) => notes),
    data: Object.assign({}, ...reports.map(({ data }) => data)) as object,
  };
}
