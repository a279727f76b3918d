import assert from "node:assert/strict";
import { appendFileSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Client as McpClient, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { parseSync } from "oxc-parser";
import { type Build, buildService, createSecrets, startWorker } from "../../bench/service.ts";
import { createOperator } from "../backup/operator.ts";
import { importFile, writeExport } from "../backup/restore.ts";
import { objectClasses } from "../shared/object-classes.ts";
import { listen } from "../shared/ports.ts";
import { call, type Client, createClient, poll } from "../shared/service.ts";
import { unpackRelease } from "./release.ts";

/*
 * During a deployment the Worker of one release calls the Durable Objects of the other. The same day of a workspace passes four times
 * over one storage: with the last release alone, with the Worker of each release and the objects of the other, and with this one alone.
 */

/** The methods that are called only while an answer is written, after a failed call, after days, and with a language model. */
const NOT_CALLED_HERE = new Set(
  ["resume", "isUnfinished", "eraseIdle", "continue", "streamContinued", "decide"].map((method) => `ChatSession.${method}`),
);

let folder: string;
let site: Server;
let origin: string;
let release: Build;
let current: Build;
const secrets = createSecrets();
const received: string[] = [];
const called = new Set<string>();

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "releases-"));
  site = createServer((request, response) => {
    request.on("data", (chunk: Buffer) => received.push(chunk.toString()));
    request.on("end", () => response.writeHead(200, { "Content-Type": "text/html" }).end("<title>Shop</title><p>We sell lamps.</p>"));
  });
  origin = await listen(site);
  current = await buildService(folder);
  release = { ...current, directory: join(folder, "release") };
  unpackRelease(release.directory);
  for (const { directory, script } of [release, current]) appendFileSync(join(directory, script), TRACE);
});

after(async () => {
  site.close();
  await rm(folder, { recursive: true, force: true });
});

/** The last release finds only the workspaces whose shard has the number of a database. All batches are gathered. */
const VARIABLES = {
  ALLOW_PRIVATE_TARGETS: "true",
  CRAWL_PAUSE_MS: "0",
  SHARD_MAP: "0=DB",
  GROUP_COMMIT_AFTER_MS: "0",
  MAIL_FROM: "team@acme.example",
};

/** Makes the methods of each Durable Object write a line when they are called. */
const TRACE = `
import * as traced from "./index.js";
for (const [name, { prototype }] of Object.entries(traced)) {
  for (const [method, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype ?? {}))) {
    if (method === "constructor" || typeof value !== "function") continue;
    prototype[method] = function (...given) {
      console.log("called " + name + "." + method);
      return value.apply(this, given);
    };
  }
}
`;

void test("the Worker of each release works with the objects of the other, and reads what the other has stored", async () => {
  const days = [
    { objects: release, front: undefined },
    { objects: release, front: current },
    { objects: current, front: release },
    { objects: current, front: undefined },
  ];
  let workspace: Workspace | undefined;
  for (const [day, { objects, front }] of days.entries()) {
    const worker = await startWorker(objects, { ...secrets, ...VARIABLES }, join(folder, "state"), front);
    worker.onLog = (line) => void (line.startsWith("called ") && called.add(line.slice("called ".length)));
    try {
      const url = `http://127.0.0.1:${worker.port}`;
      workspace ??= await createWorkspace(url, "acme");
      const isMixed = objects !== current || front !== undefined;
      await liveThrough(url, workspace, { word: WORDS[day]!, words: WORDS.slice(0, day + 1), isMixed });
      await moveAway(url, `guest-${WORDS[day]!}`, worker.sweep, isMixed);
    } finally {
      await worker.close();
    }
  }
});

void test("no method of an object is left out", () => {
  const methods = objectClasses().flatMap(({ name, file }) => publicMethods(name, file));
  assert.ok(methods.length > 30);
  assert.deepEqual(
    methods.filter((method) => !called.has(method) && !NOT_CALLED_HERE.has(method)),
    [],
  );
});

/** What platform calls, and not a Worker. */
const HANDLERS = new Set(["constructor", "alarm", "fetch", "webSocketMessage", "webSocketClose", "webSocketError"]);

function publicMethods(name: string, file: string): string[] {
  const { program } = parseSync(file, readFileSync(file, "utf8"));
  return program.body.flatMap((statement) => {
    const declared = statement.type === "ExportNamedDeclaration" ? statement.declaration : undefined;
    if (declared?.type !== "ClassDeclaration" || declared.id?.name !== name) return [];
    return declared.body.body.flatMap((member) => {
      if (member.type !== "MethodDefinition" || member.kind !== "method" || member.accessibility === "private") return [];
      return member.key.type === "Identifier" && !HANDLERS.has(member.key.name) ? [`${name}.${member.key.name}`] : [];
    });
  });
}

interface Workspace {
  id: string;
  key: string;
  agentId: string;
}

async function createWorkspace(url: string, slug: string): Promise<Workspace> {
  const operator = createClient(url, secrets.OPERATOR_TOKEN);
  const { id } = await call<{ id: string }>(operator, "POST", "/operator/v1/workspaces", { name: "Acme", slug, plan: "enterprise" });
  const { key } = await call<{ key: string }>(operator, "POST", `/operator/v1/workspaces/${id}/keys`, { name: "All", scopes: ["*"] });
  const api = createClient(url, key);
  const agent = await call<{ id: string }>(api, "POST", "/api/v1/agents", { name: "Ada", allowed_origins: ["*"] });
  await call(api, "POST", "/api/v1/webhooks", { url: `${origin}/hook`, events: ["*"] });
  return { id, key, agentId: agent.id };
}

/** Uses all that a workspace's objects do, and reads what the days before have left. */
async function liveThrough(url: string, workspace: Workspace, day: Day): Promise<void> {
  const api = createClient(url, workspace.key);
  await teach(url, workspace, api, day);
  await chat(api, workspace, day);
  await visit(url, api, workspace, day);
  await useConsole(url, workspace);
  // The invitation is mailed, and counted.
  if (!day.isMixed) await call(api, "POST", "/api/v1/members", { email: `${day.word}@acme.example`, name: "Ann", role: "agent" });
}

interface Day {
  word: string;
  /** Those of this day and the days before. */
  words: readonly string[];
  /** Whether the release before lacks operations of this one, because the Worker or its objects are older. */
  isMixed: boolean;
}

async function teach(url: string, { key, agentId }: Workspace, api: Client, { word, words, isMixed }: Day): Promise<void> {
  const agent = `/api/v1/agents/${agentId}`;
  await call(api, "POST", `${agent}/sources`, { type: "text", name: word, text: `The ${word} opens at seven in the morning.` });
  const site = await call<{ id: string }>(api, "POST", `${agent}/sources`, { type: "website", name: "Site", url: `${origin}/` });
  await uploadFiles(`${url}${agent}`, key, word);
  const answers = ["owns", "painted"].map((verb) => ({ question: `Who ${verb} the ${word}?`, answer: `Ann ${verb} the ${word}.` }));
  const [, second] = await Promise.all(answers.map((answer) => call<{ id: string }>(api, "POST", `${agent}/answers`, answer)));
  await call(api, "DELETE", `${agent}/answers/${second!.id}`);
  await settle(api, `${agent}/sources`);
  await call(api, "GET", `${agent}/sources/${site.id}/pages`);
  if (!isMixed) await call(api, "GET", `${agent}/sources/${site.id}/passages`);
  await call(api, "DELETE", `${agent}/sources/${site.id}`);
  const client = new McpClient({ name: "tests", version: "1.0.0" });
  await client.connect(
    new StreamableHTTPClientTransport(new URL("/mcp", url), { requestInit: { headers: { Authorization: `Bearer ${key}` } } }),
  );
  for (const known of words) {
    const { data } = await call<Page<{ source_id: string; content: string }>>(api, "POST", `${agent}/search`, {
      query: `The ${known} opens`,
    });
    const found = data.find(({ content }) => content.includes(`The ${known} opens`));
    assert.ok(found, `the text of the ${known} is found`);
    await client.callTool({ name: "fetch", arguments: { id: `${agentId}/${found.source_id}` } });
    const asked = await call<Asked>(api, "POST", `${agent}/messages`, { message: `Who owns the ${known}?` });
    assert.equal(asked.answer, `Ann owns the ${known}.`);
  }
  await client.close();
}

/** Uploads a file, another one in its place, and one that has no text. */
async function uploadFiles(agentUrl: string, key: string, word: string): Promise<void> {
  const files = { "chairs.txt": ["Twenty chairs.", "Thirty chairs."], "broken.pdf": ["%PDF-1.7"] };
  for (const [name, texts] of Object.entries(files))
    for (const text of texts) {
      const body = new FormData();
      body.set("file", new Blob([`${text} ${word}`]), name);
      const path = `${agentUrl}/sources/by-key/${word}-${name}`;
      const sent = await fetch(path, { method: "PUT", headers: { Authorization: `Bearer ${key}` }, body });
      assert.ok(sent.ok, await sent.text());
    }
}

async function chat(api: Client, { agentId }: Workspace, { word, words, isMixed }: Day): Promise<void> {
  const agent = `/api/v1/agents/${agentId}`;
  const asked = await call<Asked>(api, "POST", `${agent}/messages`, { message: `When does the ${word} open?`, user: { id: "cleo" } });
  const answer = `/api/v1/conversations/${asked.conversation_id}/messages/${asked.message_id}`;
  await call(api, "GET", `${answer}/trace`);
  await call(api, "GET", `${answer}/stream`);
  const stream = await call<string>(api, "POST", `${agent}/messages`, { message: `Who owns the ${word}?`, stream: true });
  assert.match(stream, /event: done/);
  const open = await call<Asked>(api, "POST", `${agent}/messages`, { message: `Does the ${word} sell unicorns?`, user: { id: "ann" } });
  const talk = `/api/v1/conversations/${open.conversation_id}`;
  await call(api, "POST", `${talk}/messages`, { content: `We sell unicorns of ${word}.` });
  // The file of one conversation is exported, that of the other is erased.
  if (!isMixed) for (const sent of [talk, `/api/v1/conversations/${asked.conversation_id}`]) await sendFile(api, sent, word);
  await call(api, "PATCH", talk, { status: "resolved" });
  for (const known of words) {
    const isFound = await poll(async () => {
      const { data } = await call<Page<unknown>>(api, "GET", `/api/v1/conversations?q=unicorns%20of%20${known}`);
      return data.length > 0 || undefined;
    }, SETTLE_LIMIT_MS);
    assert.ok(isFound, `the conversation about the ${known} is found`);
  }
  await call(api, "GET", "/api/v1/privacy/export?external_id=cleo");
  await call(api, "DELETE", "/api/v1/privacy/visitors?external_id=cleo");
}

/** Sends a file with a reply, and reads it. */
async function sendFile(api: Client, talk: string, word: string): Promise<void> {
  const body = new FormData();
  body.set("file", new Blob([`The plan of the ${word}.`]), "plan.txt");
  const { id, url } = await call<{ id: string; url: string }>(api, "POST", "/api/v1/attachments", body);
  await call(api, "POST", `${talk}/messages`, { content: "Here it is.", attachments: [id] });
  assert.equal(await (await fetch(url)).text(), `The plan of the ${word}.`);
}

async function visit(url: string, api: Client, { agentId }: Workspace, { word, words }: Day): Promise<void> {
  const agent = `/widget/v1/agents/${agentId}`;
  const visitor = createClient(url, "");
  const asked = await call<Asked & { visitor_token: string }>(visitor, "POST", `${agent}/messages`, { message: `Who owns the ${word}?` });
  const lead = { name: `Acme ${word}`, email: `${word}@example.com`, visitor_token: asked.visitor_token };
  await call(visitor, "POST", `${agent}/leads`, lead);
  await call(visitor, "POST", `${agent}/leads`, { name: "Bob", email: `bob@${word}.example` });
  for (const known of words) assert.equal((await call<Page<unknown>>(api, "GET", `/api/v1/leads?q=acme%20${known}`)).data.length, 1, known);
  await call(api, "DELETE", `/api/v1/privacy/visitors?email=bob%40${word}.example`);
  await call(api, "POST", `/api/v1/conversations/${asked.conversation_id}/messages`, { content: "A colleague here." });
  const known = createClient(url, { Authorization: `Bearer ${asked.visitor_token}` });
  await call(known, "GET", `/widget/v1/conversations/${asked.conversation_id}/messages`);
  await call(known, "POST", "/widget/v1/sessions/end");
}

async function useConsole(url: string, { key }: Workspace): Promise<void> {
  const page = { "Sec-Fetch-Site": "same-origin", "X-Support-Agent-Console": "1", Origin: url, "Content-Type": "application/json" };
  const link = await call<{ url: string }>(createClient(url, key), "POST", "/console/links");
  const body = JSON.stringify({ link: link.url.split("sign-in=")[1], name: "Grace" });
  await call(createClient(url, page), "POST", "/console/links/read", { link: link.url.split("sign-in=")[1] });
  const signedIn = await fetch(`${url}/console/session`, { method: "POST", headers: page, body });
  assert.equal(signedIn.status, 200, await signedIn.text());
  const colleague = createClient(url, { ...page, Cookie: signedIn.headers.getSetCookie()[0]!.split(";")[0]! });
  await call(colleague, "GET", "/console/session");
  await call(colleague, "DELETE", "/console/session");
}

/** Moves a workspace away and back: exports and deletes it, and imports it where nothing of it is left. */
async function moveAway(url: string, slug: string, sweep: () => Promise<void>, isMixed: boolean): Promise<void> {
  const operator = createOperator(url, secrets.OPERATOR_TOKEN);
  const guest = await createWorkspace(url, slug);
  const day = { word: slug, words: [slug], isMixed };
  await liveThrough(url, guest, day);
  const file = join(folder, `${slug}.ndjson`);
  await writeExport(operator, guest.id, file, () => undefined);
  await call(operator, "DELETE", `/operator/v1/workspaces/${guest.id}`);
  const isImported = await poll(async () => {
    await sweep();
    return importFile(operator, file, () => undefined).then(
      () => true,
      () => undefined,
    );
  }, SETTLE_LIMIT_MS);
  assert.ok(isImported, "the workspace is back");
  const asked = await call<Asked>(createClient(url, guest.key), "POST", `/api/v1/agents/${guest.agentId}/messages`, {
    message: `Who owns the ${slug}?`,
  });
  assert.equal(asked.answer, `Ann owns the ${slug}.`);
}

/** A word for each day, which only its own texts have. */
const WORDS = ["library", "bakery", "museum", "garage"];
const SETTLE_LIMIT_MS = 30_000;

interface Page<Item> {
  data: Item[];
}

interface Asked {
  answer: string;
  conversation_id: string;
  message_id: string;
}

/** Waits until all sources are read, or cannot be. */
async function settle(api: Client, path: string): Promise<void> {
  const isSettled = await poll(async () => {
    const { data } = await call<Page<{ status: string }>>(api, "GET", path);
    return data.every(({ status }) => ["ready", "failed"].includes(status)) || undefined;
  }, SETTLE_LIMIT_MS);
  assert.ok(isSettled, `${path} does not settle`);
}
