import { pdfFile } from "../../test/knowledge/extract/pdf-file.ts";
import { fetchFrom } from "../load.ts";
import { forEach, peakMegabytes, workerdMegabytes } from "../measure.ts";
import type { Report, Table } from "../report.ts";
import { type Build, withService } from "../service.ts";
import { serve } from "../stand-ins/serve.ts";
import { createTenant, type Tenant, untilReady } from "../tenant.ts";

const BODY_BYTES = 16 * 1024 * 1024;
const BODIES = 8;
const REPLIES = 500;
const ANSWERS = 5_000;
const PDF_PAGES = 1_000;
const PDF_LINES = 50;

/** The worst that one tenant can do at once, by what it is. */
const CASES: Record<string, (tenant: Tenant, port: number) => Promise<unknown>> = {
  [`${BODIES} bodies of 16 MiB at once, refused`]: ({ agentId, request }, port) =>
    forEach(Array(BODIES), async () => {
      const body = { type: "text", name: "Large", text: "x".repeat(BODY_BYTES - 100) };
      const { status } = await fetchFrom(port, request("POST", `/agents/${agentId}/sources`, body));
      if (status !== 413) throw new Error(`A body of 16 MiB answered ${status}.`);
    }),
  "one text of 5 MB, indexed": (tenant) => addSource(tenant, { type: "text", text: 'He said "yes", and\n'.repeat(270_000) }),
  [`a transcript of ${REPLIES} messages of 8,000 characters, read whole by pages of 100`]: async ({ agentId, call }) => {
    const { conversation_id: id } = await call<{ conversation_id: string }>("POST", `/agents/${agentId}/messages`, { message: "Hello" });
    const messages = `/conversations/${id}/messages`;
    await forEach(Array(REPLIES), () => call("POST", messages, { content: "😀".repeat(4_000) }));
    for (let cursor: string | null = ""; cursor !== null;) {
      const path: string = `${messages}?limit=100${cursor && `&cursor=${encodeURIComponent(cursor)}`}`;
      ({ next_cursor: cursor } = await call<{ next_cursor: string | null }>("GET", path));
    }
  },
  [`${ANSWERS.toLocaleString("en")} curated answers, then 20 questions`]: async ({ agentId, call }) => {
    const question = (n: number) => `How do I set option ${n} of device ${(n * 7919) % 9973}?`;
    await forEach(Array(ANSWERS), (_, n) =>
      call("POST", `/agents/${agentId}/answers`, { question: question(n), answer: `Open menu ${n}.` }),
    );
    await forEach(Array(20), (_, n) => call("POST", `/agents/${agentId}/messages`, { message: question(n * 200) }));
  },
  [`a PDF of ${PDF_PAGES.toLocaleString("en")} pages`]: async (tenant) => {
    const lineAt = (page: number, line: number) => `Rule ${page}.${line}: the setting is in menu ${line}, and takes effect at once.`;
    const pages = Array.from({ length: PDF_PAGES }, (_, page) =>
      Array.from({ length: PDF_LINES }, (__, line) => ({ text: lineAt(page, line), y: 750 - 14 * line })),
    );
    const file = pdfFile({ pages, title: "Rules" });
    const site = await serve((_, response) => response.writeHead(200, { "Content-Type": "application/pdf" }).end(file));
    try {
      await addSource(tenant, { type: "url", url: `${site.origin}/rules.pdf` });
    } finally {
      await site.close();
    }
  },
};

async function addSource(tenant: Tenant, source: object): Promise<void> {
  await tenant.call("POST", `/agents/${tenant.agentId}/sources`, { name: "Large", ...source });
  await untilReady(tenant, tenant.agentId);
}

/** Measures the most memory that workerd holds during each case, in a process of its own, since it gives none back. */
export async function benchMemory(build: Build): Promise<Report> {
  const table: Table = [];
  for (const [what, run] of Object.entries(CASES)) {
    console.error(`${what} …`);
    await withService(build, { ALLOW_PRIVATE_TARGETS: "true" }, async ({ port, operatorToken }) => {
      const tenant = await createTenant(port, operatorToken, "memory");
      await tenant.call("POST", `/agents/${tenant.agentId}/messages`, { message: "Hello" });
      const before = workerdMegabytes();
      const peak = await peakMegabytes(() => run(tenant, port));
      table.push({ "memory of workerd": what, "before, MB": before, "peak, MB": peak, "more, MB": peak - before });
    });
  }
  return { tables: [table] };
}
