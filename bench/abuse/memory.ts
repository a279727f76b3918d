import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { pdfFile } from "../../test/knowledge/extract/pdf-file.ts";
import type { Report, Table } from "../report.ts";
import { type RunningWorker, startWorker, workerdMegabytes } from "../service.ts";
import type { Abused } from "./abuse.ts";
import { createTenant, sendAny, type Tenant } from "./tenant.ts";

/** What the worst of one kind does to the memory of workerd, which had nothing else to do before. */
interface Peak {
  what: string;
  beforeMegabytes: number;
  peakMegabytes: number;
}

/** A case, with what is done before its memory is looked at, and what is measured. */
interface Case {
  what: string;
  run: (tenant: Tenant, served: RunningWorker) => Promise<void>;
}

const SAMPLE_MS = 25;
const BODY_BYTES = 16 * 1024 * 1024;
const BODIES = 8;
const REPLIES = 500;
const ANSWERS = 5_000;
const PDF_PAGES = 1_000;
const PDF_LINES = 50;
const AT_ONCE = 8;
const READY_DEADLINE_MS = 60_000;
const LIMITS = { requests_per_minute: 1_000_000_000, messages: 1_000_000_000, answers_per_agent: ANSWERS };

const CASES: Case[] = [
  {
    what: `${BODIES} bodies of 16 MiB at once, refused`,
    run: async ({ agentId, authorization }, { port }) => {
      const body = { type: "text", name: "Large", text: "x".repeat(BODY_BYTES - 100) };
      const send = async () => {
        const { status } = await sendAny(port, { method: "POST", path: `/api/v1/agents/${agentId}/sources`, headers: authorization, body });
        if (status !== 413) throw new Error(`A body of 16 MiB answered ${status}.`);
      };
      await Promise.all(Array.from({ length: BODIES }, send));
    },
  },
  {
    what: "one text of 5 MB, indexed",
    run: async ({ agentId, call }) => {
      const text = 'He said "yes", and\n'.repeat(270_000);
      const { id } = await call<{ id: string }>("POST", `/agents/${agentId}/sources`, { type: "text", name: "Text", text }, 202);
      await untilReady(call, agentId, id);
    },
  },
  {
    what: `a transcript of ${REPLIES} messages of 8,000 characters, read whole by pages of 100`,
    run: async ({ agentId, call }) => {
      const { conversation_id: id } = await call<{ conversation_id: string }>(
        "POST",
        `/agents/${agentId}/messages`,
        { message: "Hello" },
        200,
      );
      await times(REPLIES, () => call("POST", `/conversations/${id}/messages`, { content: "😀".repeat(4_000) }, 201));
      for (let cursor = ""; ;) {
        const path = `/conversations/${id}/messages?limit=100${cursor && `&cursor=${encodeURIComponent(cursor)}`}`;
        const page = await call<{ next_cursor: string | null }>("GET", path, undefined, 200);
        if (page.next_cursor === null) return;
        cursor = page.next_cursor;
      }
    },
  },
  {
    what: `${ANSWERS.toLocaleString("en")} curated answers, then 20 questions`,
    run: async ({ agentId, call }) => {
      const answer = (n: number) => ({ question: `How do I set option ${n} of device ${(n * 7919) % 9973}?`, answer: `Open menu ${n}.` });
      await times(ANSWERS, (n) => call("POST", `/agents/${agentId}/answers`, answer(n), 201));
      await times(20, (n) => call("POST", `/agents/${agentId}/messages`, { message: answer(n * 200).question }, 200));
    },
  },
  {
    what: `a PDF of ${PDF_PAGES.toLocaleString("en")} pages`,
    run: async ({ agentId, call }) => {
      const page = (at: number) =>
        Array.from({ length: PDF_LINES }, (_, line) => ({
          text: `Rule ${at}.${line}: the setting is in menu ${line}, and takes effect at once.`,
          y: 750 - 14 * line,
        }));
      const file = pdfFile({ pages: Array.from({ length: PDF_PAGES }, (_, at) => page(at)), title: "Rules" });
      const server = createServer((_, response) => response.writeHead(200, { "Content-Type": "application/pdf" }).end(file)).listen(
        0,
        "127.0.0.1",
      );
      await new Promise((resolve) => server.once("listening", resolve));
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/rules.pdf`;
      try {
        const { id } = await call<{ id: string }>("POST", `/agents/${agentId}/sources`, { type: "url", name: "Rules", url }, 202);
        await untilReady(call, agentId, id);
      } finally {
        server.close();
      }
    },
  },
];

/** The most memory that workerd holds during each case, in a process of its own, since it gives none back. */
export async function benchMemory({ build, bindings, operatorToken }: Abused): Promise<Report> {
  const peaks: Peak[] = [];
  for (const { what, run } of CASES) {
    console.error(`${what} …`);
    const served = await startWorker(build, bindings);
    try {
      const tenant = await createTenant(served.port, operatorToken, "memory", "enterprise", LIMITS);
      await tenant.call("POST", `/agents/${tenant.agentId}/messages`, { message: "Hello" }, 200);
      const beforeMegabytes = workerdMegabytes() ?? Number.NaN;
      peaks.push({ what, beforeMegabytes, peakMegabytes: await peakDuring(() => run(tenant, served)) });
    } finally {
      await served.close();
    }
  }
  return { tables: [tableOf(peaks)], notes: [], data: { peaks } };
}

async function peakDuring(work: () => Promise<void>): Promise<number> {
  let peak = 0;
  const timer = setInterval(() => (peak = Math.max(peak, workerdMegabytes() ?? 0)), SAMPLE_MS);
  try {
    await work();
    return peak;
  } finally {
    clearInterval(timer);
  }
}

async function times(count: number, work: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
}

/** Waits until a source is ready. */
export async function untilReady(call: Tenant["call"], agentId: string, id: string): Promise<void> {
  for (const deadlineMs = Date.now() + READY_DEADLINE_MS; Date.now() < deadlineMs; await sleep(50)) {
    const { data } = await call<{ data: { id: string; status: string; error: unknown }[] }>(
      "GET",
      `/agents/${agentId}/sources`,
      undefined,
      200,
    );
    const source = data.find((each) => each.id === id);
    if (source?.status === "ready") return;
    if (source?.status === "failed") throw new Error(`The source failed: ${JSON.stringify(source.error)}`);
  }
  throw new Error("The source is not ready in time.");
}

function tableOf(peaks: Peak[]): Table {
  const rows = peaks.map(({ what, beforeMegabytes, peakMegabytes }) => [
    what,
    beforeMegabytes,
    peakMegabytes,
    peakMegabytes - beforeMegabytes,
  ]);
  return { columns: ["memory of workerd", "before, MB", "peak, MB", "more, MB"], rows };
}
