import { percentile, timed } from "../measure.ts";
import { randomNumbers } from "../random.ts";
import type { Report } from "../report.ts";
import { CHUNKS_PER_DOCUMENT, documentAt } from "../scale/passages.ts";
import { addTexts, type Tenant } from "../tenant.ts";

/** The sizes of the knowledge that are compared. */
const CHUNKS = [1_000, 200_000];
/** A text of this many documents stays below the 5 MB that a source may hold. */
const DOCUMENTS_PER_TEXT = 600;
const QUESTIONS = 200;
const WORDS_PER_QUESTION = 5;

/** Fills agents with chunks, and times searches in their words, one by one. */
export async function measureSpeed(tenant: Tenant): Promise<Report> {
  const rows: [string, string][] = [];
  for (const size of CHUNKS) {
    const agentId = await tenant.createAgent({ name: `${size} chunks` });
    const { result: sources, ms } = await timed(() => addTexts(tenant, agentId, texts(size / CHUNKS_PER_DOCUMENT)));
    const chunks = sources.reduce((sum, source) => sum + source.chunks_count, 0);
    const timesMs: number[] = [];
    for (let at = 0; at < QUESTIONS; at++) timesMs.push(await searchMs(tenant, agentId, at));
    rows.push([`${chunks} chunks`, `${describe(timesMs)}; taught in ${(ms / 1000).toFixed(0)} s`]);
  }
  rows.push(["while a text of 5 MB is indexed", describe(await searchWhileIndexing(tenant))]);
  return { tables: [rows.map(([knowledge, time]) => ({ Search: knowledge, "": time }))], data: { results: Object.fromEntries(rows) } };
}

async function searchWhileIndexing(tenant: Tenant): Promise<number[]> {
  const agentId = await tenant.createAgent({ name: "Busy" });
  await addTexts(tenant, agentId, texts(CHUNKS[0]! / CHUNKS_PER_DOCUMENT));
  const timesMs: number[] = [];
  let isIndexed = false;
  const indexing = addTexts(tenant, agentId, texts(DOCUMENTS_PER_TEXT)).finally(() => (isIndexed = true));
  while (!isIndexed) timesMs.push(await searchMs(tenant, agentId, timesMs.length));
  await indexing;
  return timesMs;
}

async function searchMs({ call }: Tenant, agentId: string, seed: number): Promise<number> {
  const random = randomNumbers(seed + 1);
  const { content } = documentAt(Math.floor((random() * CHUNKS[0]!) / CHUNKS_PER_DOCUMENT)).chunks[0]!;
  const words = content.split(" ").toSorted(() => random() - 0.5);
  const query = `How do I ${words.slice(0, WORDS_PER_QUESTION).join(" ")}?`;
  return (await timed(() => call("POST", `/agents/${agentId}/search`, { query, limit: 5 }))).ms;
}

function describe(timesMs: readonly number[]): string {
  const [p50, p95, slowest] = [0.5, 0.95, 1].map((share) => percentile(timesMs, share).toFixed(1));
  return `p50 ${p50} ms, p95 ${p95} ms, slowest ${slowest} ms`;
}

function texts(documents: number): { name: string; text: string }[] {
  return Array.from({ length: Math.ceil(documents / DOCUMENTS_PER_TEXT) }, (_, at) => {
    const length = Math.min(DOCUMENTS_PER_TEXT, documents - at * DOCUMENTS_PER_TEXT);
    const chunks = Array.from({ length }, (__, n) => documentAt(at * DOCUMENTS_PER_TEXT + n).chunks).flat();
    return { name: `Text ${at}`, text: chunks.map(({ heading, content }) => `## ${heading}\n\n${content}`).join("\n\n") };
  });
}
