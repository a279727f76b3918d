import { WORKERS_AI_MODELS } from "../../src/models/limits.ts";
import type { CloudflareApi, Reply } from "./api.ts";
import { type Finding, missing, note, ok, taken } from "./findings.ts";
import type { Project } from "./project.ts";
import { type Index, indexProblem, type Queue } from "./resources.ts";

const DOCS = "https://developers.cloudflare.com";

/** A page of the account in the dashboard. */
function dashboard(accountId: string, page: string): string {
  return `https://dash.cloudflare.com/${accountId}/${page}`;
}

/** The text for what the API refuses to show. */
function unreadable({ status }: Reply<unknown>, permission: string): string {
  const isRefused = status === 401 || status === 403;
  return isRefused ? `the login may not read it: give the token the permission ${permission}` : `the API answered ${status}: try again`;
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
    return note(
      subject,
      `${PAID_PLAN}. The login may not read whether the account has it (permission Billing: Read): look at ${plansPage}`,
    );
  }
  const plans = result.map(({ rate_plan: plan }) => `${plan?.id} ${plan?.public_name}`);
  if (plans.some((plan) => WORKERS_PLAN.test(plan) && !FREE_PLAN.test(plan))) return ok(subject, "paid");
  if (!plans.some((plan) => ENTERPRISE_PLAN.test(plan))) return missing(subject, `${PAID_PLAN}. Choose it at ${plansPage}`);
  return note(subject, `an Enterprise plan: whether it has Workers without the limits of the free plan, ${plansPage} shows`);
}

/** The bindings of a Worker of the account. */
export interface WorkerSettings {
  bindings?: { queue_name?: string }[];
}

/** Whether a Worker is this service, and not another one of the same name: this service is bound to one of its queues. */
export function isOwnWorker({ bindings }: WorkerSettings, queues: string[]): boolean {
  return bindings?.some(({ queue_name: queue }) => queue !== undefined && queues.includes(queue)) ?? false;
}

/** Whether Workers may be deployed, and whether the Worker's name is free. */
export async function checkWorker(api: CloudflareApi, { worker, queues, hosts }: Project): Promise<Finding[]> {
  const [subdomain, { result: settings }] = await Promise.all([
    api.read<{ subdomain?: string }>("workers/subdomain"),
    api.read<WorkerSettings>(`workers/scripts/${worker}/settings`),
  ]);
  if (subdomain.status !== 200 && subdomain.status !== 404) return [missing("Workers", unreadable(subdomain, "Workers Scripts: Edit"))];
  return [addressFinding(api, subdomain.result?.subdomain, hosts), nameFinding(worker, settings, queues)];
}

function addressFinding({ accountId }: CloudflareApi, name: string | undefined, hosts: string[]): Finding {
  if (name) return ok("Workers", `on ${name}.workers.dev`);
  if (hosts.length > 0) return ok("Workers", "no workers.dev name; the routes of the configuration are used");
  return missing("Workers", `the account has no workers.dev name yet: open ${dashboard(accountId, "workers-and-pages")} once`);
}

function nameFinding(worker: string, settings: WorkerSettings | undefined, queues: string[]): Finding {
  const subject = `Worker ${worker}`;
  if (!settings) return ok(subject, "the name is free");
  if (isOwnWorker(settings, queues)) return ok(subject, "deployed before; it gets a new version");
  return taken(subject, "the name belongs to another Worker: set another `name` in wrangler.toml");
}

/** Which of the databases exist. */
export async function checkDatabases(api: CloudflareApi, { databases }: Project): Promise<Finding> {
  const reply = await api.list<{ name: string }>("d1/database");
  if (!reply.result) return missing("D1", unreadable(reply, "D1: Edit"));
  return existing(
    "D1",
    reply.result.map(({ name }) => name),
    databases.map(({ name }) => name),
  );
}

/** Which of the queues exist. */
export async function checkQueues(api: CloudflareApi, { queues }: Project): Promise<Finding> {
  const reply = await api.list<Queue>("queues");
  if (!reply.result) return missing("Queues", unreadable(reply, "Queues: Edit"));
  return existing(
    "Queues",
    reply.result.map(({ queue_name: name }) => name),
    queues,
  );
}

/** Whether the indexes that exist have the right shape. */
export async function checkIndexes(api: CloudflareApi, { indexes, dimensions }: Project): Promise<Finding[]> {
  if (indexes.length === 0) return [];
  const reply = await api.read<Index[]>("vectorize/v2/indexes");
  if (!reply.result) return [missing("Vectorize", unreadable(reply, "Vectorize: Edit"))];
  const names = reply.result.map(({ name }) => name);
  const problems = reply.result.flatMap((index) => (indexes.includes(index.name) && indexProblem(index, dimensions)) || []);
  return [problems[0] ? missing("Vectorize", problems[0]) : existing("Vectorize", names, indexes)];
}

function existing(subject: string, found: string[], wanted: string[]): Finding {
  const taken = wanted.filter((name) => found.includes(name));
  if (taken.length === wanted.length) return ok(subject, wanted.length === 1 ? `${wanted[0]} exists` : `all ${wanted.length} exist`);
  return ok(subject, `${wanted.length - taken.length} to create${taken.length === 0 ? "" : `; in use as they are: ${taken.join(", ")}`}`);
}

/** Whether the account offers the models on Workers AI that the configuration uses. */
export async function checkAi(api: CloudflareApi, { uses, vars }: Project): Promise<Finding[]> {
  const models = [
    ...(vars["OPENAI_MODEL"] ? [] : [WORKERS_AI_MODELS.language]),
    ...(vars["OPENAI_EMBEDDING_MODEL"] ? [] : [WORKERS_AI_MODELS.embedding]),
    ...(vars["RERANK_PASSAGES"] === "true" ? [WORKERS_AI_MODELS.reranker] : []),
  ];
  if (!uses.ai || models.length === 0) return [];
  const replies = await Promise.all(
    models.map((model) => api.read<{ name: string }[]>(`ai/models/search?search=${model.split("/").at(-1)}`)),
  );
  const refused = replies.find(({ result }) => !result);
  if (refused) return [note("Workers AI", unreadable(refused, "Workers AI: Read"))];
  const gone = models.filter((model, index) => !replies[index]?.result?.some(({ name }) => name === model));
  if (gone.length > 0) {
    const remedy = "Name other models: OPENAI_BASE_URL and OPENAI_MODEL, OPENAI_EMBEDDING_MODEL";
    return [missing("Workers AI", `not in the account's catalogue: ${gone.join(", ")}. ${remedy}`)];
  }
  const quota = `text generation is limited to 300 requests a minute unless Cloudflare raised it (${DOCS}/workers-ai/platform/limits/)`;
  return [ok("Workers AI", `${models.join(", ")}; ${quota}`)];
}

/** What to do where Analytics Engine is off. */
export function metricsRemedy(accountId: string): string {
  return `switch it on at ${dashboard(accountId, "workers/analytics-engine")}, or add \`--without metrics\` to deploy without them`;
}

/** Whether Analytics Engine is on. It refuses a query where it is off, and where the login may not read analytics. */
export async function checkMetrics(api: CloudflareApi, { uses }: Project): Promise<Finding[]> {
  if (!uses.metrics) return [];
  const subject = "Analytics Engine";
  if ((await api.queryMetrics("SHOW TABLES")) === 200) return [ok(subject, "on")];
  const remedy = metricsRemedy(api.accountId);
  if (await api.mayReadAnalytics())
    return [note(subject, `it seems to be off, and only the upload shows whether it is. If it is off, ${remedy}`)];
  return [note(subject, `the login may not read whether it is on (permission Account Analytics: Read). If it is off, ${remedy}`)];
}
