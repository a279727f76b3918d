import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { send } from "../load.ts";
import { buildService, createSecrets, startWorker } from "../service.ts";

/** Requests under way at once: the worker and its objects share a thread with nobody else here. */
const CONCURRENCY = 8;
const INGESTION_DEADLINE_MS = 10 * 60_000;
/** Nothing that is measured comes near these. */
const LIMITS = { requests_per_minute: 1_000_000_000, messages: 1_000_000_000, sources: 1_000_000 };

type Call = <Answer>(method: string, path: string, body: unknown, status: number) => Promise<Answer>;

/** The built service with a workspace of its own. `call` takes paths below /api/v1. */
export interface Service {
  call: Call;
  createAgent(name: string, language?: string): Promise<string>;
}

/**
 * Builds the worker, serves it with the embedded engine and no network, and makes a workspace. All of it goes when the work is done.
 * @param bindings variables of the service that are to be others than in wrangler.toml.
 */
export async function withService<T>(work: (service: Service) => Promise<T>, bindings: Record<string, string> = {}): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), "answers-"));
  const temporary = process.env["TMPDIR"];
  process.env["TMPDIR"] = directory;
  const secrets = createSecrets();
  const served = await startWorker(await buildService(directory), { ...secrets, ...bindings });
  try {
    return await work(await openWorkspace(served.port, secrets.OPERATOR_TOKEN));
  } finally {
    await served.close();
    await rm(directory, { recursive: true, force: true });
    if (temporary === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = temporary;
  }
}

async function openWorkspace(port: number, operatorToken: string): Promise<Service> {
  const caller =
    (prefix: string, token: string): Call =>
    <Answer>(method: string, path: string, body: unknown, status: number) =>
      send(port, { method, path: prefix + path, headers: { Authorization: `Bearer ${token}` }, body, status }) as Promise<Answer>;
  const operate = caller("/operator/v1", operatorToken);
  const { id } = await operate<{ id: string }>("POST", "/workspaces", { name: "Answers", slug: "answers", plan: "enterprise" }, 201);
  await operate("PATCH", `/workspaces/${id}`, { limits: LIMITS }, 200);
  const { key } = await operate<{ key: string }>("POST", `/workspaces/${id}/keys`, { name: "Answers", scopes: ["*"] }, 201);
  return {
    call: caller("/api/v1", key),
    createAgent: async (name, language = "en") =>
      (await operate<{ id: string }>("POST", `/workspaces/${id}/agents`, { name, language }, 201)).id,
  };
}

/** Does a work for each item, some at a time; results are in the items' order. */
export async function forEach<Item, Result>(items: readonly Item[], work: (item: Item, at: number) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      const at = next++;
      results[at] = await work(items[at]!, at);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  return results;
}

interface SourceState {
  id: string;
  status: string;
  chunks_count: number;
  error: unknown;
}

/** Adds text sources and waits until all are ready. Gives the chunks that came of them and, by source id, their names. */
export async function teach(
  { call }: Service,
  agentId: string,
  texts: readonly { name: string; text: string }[],
): Promise<{ names: Map<string, string>; chunks: number }> {
  const path = `/agents/${agentId}/sources`;
  const names = new Map<string, string>();
  await forEach(texts, async ({ name, text }) => {
    names.set((await call<{ id: string }>("POST", path, { type: "text", name, text }, 202)).id, name);
  });
  for (const deadlineMs = Date.now() + INGESTION_DEADLINE_MS; ; await sleep(500)) {
    const { data } = await call<{ data: SourceState[] }>("GET", path, undefined, 200);
    const failed = data.find(({ status }) => status === "failed");
    if (failed) throw new Error(`A source failed: ${JSON.stringify(failed)}`);
    if (data.every(({ status }) => status === "ready"))
      return { names, chunks: data.reduce((sum, source) => sum + source.chunks_count, 0) };
    if (Date.now() > deadlineMs) throw new Error("The sources are not ready in time.");
  }
}
