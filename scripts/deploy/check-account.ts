import { WORKERS_AI_MODELS } from "../../src/models/limits.ts";
import type { CloudflareApi, Reply } from "./api.ts";
import type { Finding } from "./check.ts";
import type { Project } from "./project.ts";
import { indexProblem } from "./resources.ts";

const DOCS = "https://developers.cloudflare.com";

/** A page of the account in the dashboard. */
function dashboard(accountId: string, page: string): string {
  return `https://dash.cloudflare.com/${accountId}/${page}`;
}

/** What is said where the login may not read something that a deployment changes. */
function unreadable(subject: string, { status }: Reply<unknown>, permission: string): Finding {
  const refused = status === 401 || status === 403;
  const text = refused ? `the login may not read it: give the token the permission ${permission}` : `the API answered ${status}: try again`;
  return { subject, state: "missing", text };
}

const PAID_PLAN = `Workers Paid ($5 a month) is needed: the free plan ends a request after 10 ms of CPU and 50 subrequests (${DOCS}/workers/platform/limits/)`;

const WORKERS_PLAN = /workers/i;
const FREE_PLAN = /free/i;
/** A contract's products are not always subscriptions of their own. */
const ENTERPRISE_PLAN = /enterprise|contract/i;

interface Subscription {
  rate_plan?: { id?: string; public_name?: string };
}

/** Whether the account has the paid plan, where the login may read that. */
export async function checkPlan(api: CloudflareApi): Promise<Finding> {
  const subject = "Workers plan";
  const plansPage = dashboard(api.accountId, "workers/plans");
  const { result } = await api.read<Subscription[]>("subscriptions");
  if (!result) {
    const text = `${PAID_PLAN}. Whether the account has it, the login may not read (permission Billing: Read): look at ${plansPage}`;
    return { subject, state: "note", text };
  }
  const plans = result.map(({ rate_plan: plan }) => `${plan?.id} ${plan?.public_name}`);
  if (plans.some((plan) => WORKERS_PLAN.test(plan) && !FREE_PLAN.test(plan))) return { subject, state: "ok", text: "paid" };
  if (plans.some((plan) => ENTERPRISE_PLAN.test(plan)))
    return {
      subject,
      state: "note",
      text: `an Enterprise plan: whether it has Workers without the limits of the free plan, ${plansPage} shows`,
    };
  return { subject, state: "missing", text: `${PAID_PLAN}. Choose it at ${plansPage}` };
}

/** What a Worker of the account binds. */
export interface WorkerSettings {
  bindings?: { queue_name?: string }[];
}

/** Whether a Worker is this service, and not another of the same name: it has one of its queues. */
export function isOwnWorker({ bindings }: WorkerSettings, queues: string[]): boolean {
  return bindings?.some(({ queue_name: queue }) => queue !== undefined && queues.includes(queue)) ?? false;
}

/** Whether Workers may be deployed, and by whom the Worker's name is taken. */
export async function checkWorker(api: CloudflareApi, { worker, queues, hosts }: Project): Promise<Finding[]> {
  const [subdomain, settings] = await Promise.all([
    api.read<{ subdomain?: string }>("workers/subdomain"),
    api.read<WorkerSettings>(`workers/scripts/${worker}/settings`),
  ]);
  const subject = "Workers";
  if (subdomain.status !== 200 && subdomain.status !== 404) return [unreadable(subject, subdomain, "Workers Scripts: Edit")];
  const name = subdomain.result?.subdomain;
  const address: Finding =
    name || hosts.length > 0
      ? { subject, state: "ok", text: name ? `on ${name}.workers.dev` : "no workers.dev name; the routes of the configuration are used" }
      : {
          subject,
          state: "missing",
          text: `the account has no workers.dev name yet: open ${dashboard(api.accountId, "workers-and-pages")} once`,
        };
  return [address, nameOf(worker, settings, queues)];
}

function nameOf(worker: string, { result }: Reply<WorkerSettings>, queues: string[]): Finding {
  const subject = `Worker ${worker}`;
  if (!result) return { subject, state: "ok", text: "the name is free" };
  return isOwnWorker(result, queues)
    ? { subject, state: "ok", text: "deployed before; it gets a new version" }
    : { subject, state: "missing", text: "the name is taken by another Worker: set another `name` in wrangler.toml" };
}

/** Which of the databases exist. */
export async function checkDatabases(api: CloudflareApi, { databases }: Project): Promise<Finding> {
  const found = await api.list<{ name: string }>("d1/database");
  return existing(
    "D1",
    found,
    "D1: Edit",
    ({ name }) => name,
    databases.map(({ name }) => name),
  );
}

/** Which of the queues exist. */
export async function checkQueues(api: CloudflareApi, { queues }: Project): Promise<Finding> {
  const found = await api.list<{ queue_name: string }>("queues");
  return existing("Queues", found, "Queues: Edit", ({ queue_name: name }) => name, queues);
}

function existing<T>(subject: string, reply: Reply<T[]>, permission: string, nameOfOne: (one: T) => string, wanted: string[]): Finding {
  if (!reply.result) return unreadable(subject, reply, permission);
  const names = new Set(reply.result.map(nameOfOne));
  const taken = wanted.filter((name) => names.has(name));
  if (taken.length === wanted.length)
    return { subject, state: "ok", text: wanted.length === 1 ? `${wanted[0]} exists` : `all ${wanted.length} exist` };
  const text = `${wanted.length - taken.length} to create${taken.length === 0 ? "" : `; in use as they are: ${taken.join(", ")}`}`;
  return { subject, state: "ok", text };
}

/** Whether the indexes that exist have the right shape. */
export async function checkIndexes(api: CloudflareApi, { indexes, dimensions }: Project): Promise<Finding[]> {
  if (indexes.length === 0) return [];
  const subject = "Vectorize";
  const reply = await api.read<{ name: string; config: { dimensions?: number; metric?: string } }[]>("vectorize/v2/indexes");
  if (!reply.result) return [unreadable(subject, reply, "Vectorize: Edit")];
  const problem = reply.result.filter(({ name }) => indexes.includes(name)).map((index) => indexProblem(index, dimensions));
  const wrong = problem.find((text) => text !== undefined);
  if (wrong !== undefined) return [{ subject, state: "missing", text: wrong }];
  return [existing(subject, reply, "", ({ name }) => name, indexes)];
}

/** Whether the models on Workers AI that the configuration uses are there. */
export async function checkAi(api: CloudflareApi, { uses, vars }: Project): Promise<Finding[]> {
  const models = [
    ...(vars["OPENAI_MODEL"] ? [] : [WORKERS_AI_MODELS.language]),
    ...(vars["OPENAI_EMBEDDING_MODEL"] ? [] : [WORKERS_AI_MODELS.embedding]),
    ...(vars["RERANK_PASSAGES"] === "true" ? [WORKERS_AI_MODELS.reranker] : []),
  ];
  if (!uses.ai || models.length === 0) return [];
  const subject = "Workers AI";
  const replies = await Promise.all(
    models.map((model) => api.read<{ name: string }[]>(`ai/models/search?search=${model.split("/").at(-1)}`)),
  );
  const refused = replies.find(({ result }) => !result);
  if (refused) return [{ ...unreadable(subject, refused, "Workers AI: Read"), state: "note" }];
  const gone = models.filter((model, index) => !replies[index]?.result?.some(({ name }) => name === model));
  if (gone.length > 0) {
    const text = `not in the account's catalogue: ${gone.join(", ")}. Name other models: OPENAI_BASE_URL and OPENAI_MODEL, OPENAI_EMBEDDING_MODEL`;
    return [{ subject, state: "missing", text }];
  }
  const quota = `text generation is limited to 300 requests a minute unless Cloudflare raised it (${DOCS}/workers-ai/platform/limits/)`;
  return [{ subject, state: "ok", text: `${models.join(", ")}; ${quota}` }];
}

/** What to do where Analytics Engine is off. */
export function metricsRemedy(accountId: string): string {
  return `switch it on at ${dashboard(accountId, "workers/analytics-engine")}, or deploy without the metrics: \`npm run deploy -- --without metrics\``;
}

/** Whether Analytics Engine is on. It refuses to answer where it is off, and where the login may not read analytics: the second is ruled out. */
export async function checkMetrics(api: CloudflareApi, { uses }: Project): Promise<Finding[]> {
  if (!uses.metrics) return [];
  const subject = "Analytics Engine";
  if ((await api.askMetrics("SHOW TABLES")) === 200) return [{ subject, state: "ok", text: "on" }];
  const remedy = metricsRemedy(api.accountId);
  if (await api.mayReadAnalytics()) return [{ subject, state: "missing", text: `off: ${remedy}` }];
  return [
    {
      subject,
      state: "note",
      text: `whether it is on, the login may not read (permission Account Analytics: Read). If it is off, ${remedy}`,
    },
  ];
}
