import { UserError } from "../shared/cli.ts";
import { type Guide, readGuides } from "./guides.ts";
import { call, type Client, createClient, findInList, poll } from "../shared/service.ts";

const WORKSPACE = { name: "Demo", slug: "demo", plan: "enterprise" };
const KEY = { name: "Demo key", scopes: ["*"] };
const AGENT = {
  name: "Demo agent",
  slug: "demo-agent",
  description: "Answers questions about this service from its own documentation.",
  welcome_message: "Ask me anything about this service.",
  // Pages on this machine try it out, whatever port they are on.
  allowed_origins: ["*"],
  appearance: { suggestions: ["How are webhooks signed?", "Which plans include webhooks?", "How do I put the chat on my website?"] },
  contact_form: { fields: [{ name: "name" }, { name: "email", required: true }, { name: "message" }] },
};
const READY_LIMIT_MS = 120_000;

/** The demo's key and agent, kept in `.dev.vars` for the next start. */
export interface Demo {
  apiKey: string;
  agentId: string;
}

interface Slugged {
  id: string;
  slug: string;
}

interface Source {
  id: string;
  name: string;
  status: "pending" | "processing" | "ready" | "failed";
  error: { code: string; message: string } | null;
}

/**
 * Creates the demo workspace, its key, its agent and the agent's knowledge where they are missing, also
 * after an interrupted start.
 */
export async function ensureDemo(url: string, operator: Client, kept: Partial<Demo>): Promise<Demo> {
  const slug = kept.apiKey === undefined ? undefined : await workspaceOf(url, kept.apiKey);
  if (slug !== undefined && kept.agentId !== undefined && (await hasAgent(url, kept.apiKey!, kept.agentId))) {
    return { apiKey: kept.apiKey!, agentId: kept.agentId };
  }
  console.log("  Demo      making a workspace, a key and an agent that knows the documentation …");
  const workspace = await ensureWorkspace(operator);
  const path = `/operator/v1/workspaces/${workspace.id}`;
  const isKeyOfDemo = slug === WORKSPACE.slug;
  const apiKey = isKeyOfDemo ? kept.apiKey! : (await call<{ key: string }>(operator, "POST", `${path}/keys`, KEY)).key;
  const agent =
    (await findInList<Slugged>(operator, `${path}/agents`, ({ slug }) => slug === AGENT.slug)) ??
    (await call<Slugged>(operator, "POST", `${path}/agents`, AGENT));
  await teach(createClient(url, apiKey), agent.id);
  return { apiKey, agentId: agent.id };
}

/** The slug of the workspace that a key opens; undefined when it opens none here. */
async function workspaceOf(url: string, apiKey: string): Promise<string | undefined> {
  const { status, body } = await createClient(url, apiKey).send("GET", "/api/v1/me");
  return status === 200 ? (body as { workspace: Slugged }).workspace.slug : undefined;
}

async function hasAgent(url: string, apiKey: string, agentId: string): Promise<boolean> {
  return (await createClient(url, apiKey).send("GET", `/api/v1/agents/${encodeURIComponent(agentId)}`)).status === 200;
}

async function ensureWorkspace(operator: Client): Promise<Slugged> {
  const find = (): Promise<Slugged | undefined> =>
    findInList<Slugged>(operator, "/operator/v1/workspaces", ({ slug }) => slug === WORKSPACE.slug);
  const found = await find();
  if (found) return found;
  const created = await operator.send("POST", "/operator/v1/workspaces", WORKSPACE);
  if (created.status === 201) return created.body as Slugged;
  const createdConcurrently = created.status === 409 ? await find() : undefined;
  if (createdConcurrently) return createdConcurrently;
  throw new UserError(`The demo workspace could not be made, ${created.status}: ${JSON.stringify(created.body)}`);
}

/**
 * Adds the guides that the agent does not have yet, as a source each, and waits until all of them are ready. What a
 * killed start left unfinished is created again: its text may not have been stored.
 */
async function teach(client: Client, agentId: string): Promise<void> {
  const path = `/api/v1/agents/${agentId}/sources`;
  const guides = readGuides();
  const before = await listSources(client, path, guides);
  const add = async ({ name, text }: Guide) => {
    const sources = before.filter((source) => source.name === name);
    if (sources.some(({ status }) => status === "ready")) return;
    for (const { id } of sources) await call(client, "DELETE", `${path}/${id}`);
    await call(client, "POST", path, { type: "text", name, text, schedule: "manual" });
  };
  await Promise.all(guides.map(add));
  await waitUntilReady(client, path, guides);
}

async function waitUntilReady(client: Client, path: string, guides: readonly Guide[]): Promise<void> {
  let waiting: Source[] = [];
  const isReady = await poll(async () => {
    const sources = await listSources(client, path, guides);
    const failed = sources.find(({ status }) => status === "failed");
    if (failed) throw new UserError(`The source "${failed.name}" failed: ${failed.error?.message ?? "no reason given"}`);
    waiting = sources.filter(({ status }) => status !== "ready");
    return waiting.length === 0 || undefined;
  }, READY_LIMIT_MS);
  if (isReady) return;
  const states = waiting.map(({ name, status }) => `"${name}" is ${status}`).join(", ");
  throw new UserError(`The demo agent's sources were not ready within ${READY_LIMIT_MS / 1000} s: ${states}.`);
}

async function listSources(client: Client, path: string, guides: readonly Guide[]): Promise<Source[]> {
  const { data } = await call<{ data: Source[] }>(client, "GET", path);
  return data.filter(({ name }) => guides.some((guide) => guide.name === name));
}
