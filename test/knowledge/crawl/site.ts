import { env } from "cloudflare:workers";
import { ingest } from "../../../src/knowledge/consumer.ts";
import type { IngestionMessage } from "../../../src/knowledge/sources.ts";
import { createAgent, createWorkspace, envWith } from "../../harness.ts";
import type { Behaviour } from "../../outbound-protocol.ts";
import { behaveAt, newHost, receivedBy } from "../../outbound.ts";

/** A website of one test, which sets its responses. */
export interface Site {
  host: string;
  /** The address of a path. */
  at(path: string): string;
  /** Sets the response of a path: an HTML page with this text and these links, or anything else. */
  has(path: string, page: { text?: string; links?: string[]; head?: string } & Behaviour): Promise<void>;
  answers(path: string, ...behaviours: [Behaviour, ...Behaviour[]]): Promise<void>;
  /** The paths that were requested, in order, without robots.txt and the default sitemap. */
  requested(): Promise<string[]>;
}

/** Creates a website without pages, robots.txt and sitemap. */
export async function createSite(host = newHost()): Promise<Site> {
  await behaveAt(host, { status: 404, body: "Not found" });
  const at = (path: string) => `https://${host}${path}`;
  return {
    host,
    at,
    async has(path, { text = `The page ${path} is about ${path.replace(/\W/g, "")} alone.`, links = [], head = "", ...behaviour }) {
      await behaveAt(host + path, {
        ...behaviour,
        headers: { "Content-Type": "text/html; charset=utf-8", ...behaviour.headers },
        body: htmlOf(path, text, links, head),
      });
    },
    answers: (path, ...behaviours) => behaveAt(host + path, ...behaviours),
    async requested() {
      const received = await receivedBy(host);
      const paths = received.map(({ place }) => place.slice(host.length));
      return paths.filter((path) => path !== "/robots.txt" && path !== "/sitemap.xml");
    },
  };
}

function htmlOf(path: string, text: string, links: string[], head: string): string {
  const anchors = links.map((link) => `<li><a href="${link}">To ${link}</a></li>`).join("");
  return `<!doctype html><html><head><title>Title of ${path}</title>${head}</head>
    <body><main><h1>Title of ${path}</h1><p>${text}</p><ul>${anchors}</ul></main></body></html>`;
}

export interface Reader {
  agentId: string;
  workspaceId: string;
  /** A key of all scopes. */
  key: string;
  path: string;
  call: Awaited<ReturnType<typeof createWorkspace>>["call"];
  /** Adds a source and waits until it is read. */
  read(body: Record<string, unknown>): Promise<any>;
  add(body: Record<string, unknown>): Promise<any>;
  /** Syncs a source and waits until it is read. */
  sync(id: string): Promise<any>;
  find(id: string): Promise<any>;
  /** The pages as `status path`, each with its reason. */
  pages(id: string, status?: string): Promise<Record<string, string>>;
  search(query: string): Promise<any[]>;
  message(id: string): IngestionMessage;
}

/** More wake-ups than any of these crawls takes. */
const MAX_WAKE_UPS = 200;

/** Creates an agent that reads websites. */
export async function createReader(): Promise<Reader> {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const path = `/agents/${agent.id}/sources`;
  const message = (sourceId: string) => ({ workspaceId: workspace.id, agentId: agent.id, sourceId });
  const find = async (id: string) => (await workspace.call("GET", path)).body.data.find((source: { id: string }) => source.id === id);
  const add = async (body: Record<string, unknown>) => {
    const created = await workspace.call("POST", path, { type: "website", name: "Site", ...body });
    if (created.status !== 202) throw new Error(`The source was refused: ${JSON.stringify(created.body)}`);
    return created.body;
  };
  return {
    agentId: agent.id,
    workspaceId: workspace.id,
    key: workspace.key,
    path,
    call: (...request) => workspace.call(...request),
    message,
    find,
    add,
    async read(body) {
      const { id } = await add(body);
      await work(message(id));
      return find(id);
    },
    async sync(id) {
      await workspace.call("POST", `${path}/${id}/sync`);
      await work(message(id));
      return find(id);
    },
    async pages(id, status) {
      const query = status === undefined ? "" : `&status=${status}`;
      const listed = await workspace.call("GET", `${path}/${id}/pages?limit=100${query}`);
      return Object.fromEntries(
        listed.body.data.map((page: any) => [
          new URL(page.url).pathname + new URL(page.url).search,
          page.reason === null ? page.status : `${page.status}: ${page.reason}`,
        ]),
      );
    },
    search: async (query) => (await workspace.call("POST", `/agents/${agent.id}/search`, { query, limit: 50 })).body.data,
  };
}

/** A consumer's environment whose own wake-ups are caught. */
export function catching(bindings: Record<string, unknown> = {}) {
  const caught: { body: IngestionMessage; delaySeconds: number }[] = [];
  const queue = {
    sendBatch: async (messages: Iterable<{ body: IngestionMessage }>, { delaySeconds = 0 }: { delaySeconds?: number } = {}) => {
      for (const { body } of messages) caught.push({ body, delaySeconds });
    },
  };
  return { caught, env: envWith({ CRAWL_QUEUE: queue, ...bindings }) };
}

/** Delivers a wake-up and those that follow from it, each at its time. @returns when it was done, and how long each one waited. */
export async function work(message: IngestionMessage, bindings: Record<string, unknown> = {}, startMs = Date.now()) {
  let nowMs = startMs;
  const waits: number[] = [];
  const queue = catching(bindings);
  queue.caught.push({ body: message, delaySeconds: 0 });
  for (let next = queue.caught.shift(); next; next = queue.caught.shift()) {
    if (waits.push(next.delaySeconds) > MAX_WAKE_UPS) throw new Error("The crawl does not end");
    nowMs += next.delaySeconds * 1000;
    const at = nowMs;
    await ingest(queue.env, next.body, () => at);
  }
  return { nowMs, waits: waits.slice(1) };
}

/** The knowledge index of the agent. */
export function indexStub(reader: Reader) {
  return env.INDEX.getByName(`${reader.workspaceId}/${reader.agentId}`);
}
