import { randomInt } from "node:crypto";
import type { Report, Table } from "../report.ts";
import { type RunningWorker, startWorker } from "../service.ts";
import type { Abused } from "./abuse.ts";
import { createTenant, sendAny, type Tenant } from "./tenant.ts";

/** Something that can be sent again and again to write as much as it goes. */
interface Flood {
  operation: string;
  /** The bound that ends it, in words. */
  bound: string;
  method: string;
  path: string;
  body: (n: number) => object;
  headers?: (n: number) => Record<string, string>;
  /** How many an hour a plan allows, apart from the rate limit; undefined where that is the only bound. */
  perHour: (limits: Limits, storedBytes: number) => number | undefined;
  /** The operation without which it cannot be: what that stores is not counted. */
  beside?: string;
  /** Visitors' requests do not count to the workspace's rate limit. */
  byVisitor?: boolean;
}

type Limits = Record<string, number>;

/** What a flood wrote. */
interface Flooded {
  operation: string;
  bound: string;
  requestBytes: number;
  accepted: number;
  /** How the first one was refused that was. */
  refusedAs: string | null;
  /** In D1, for each request. */
  storedBytes: number;
  perHour: Record<string, number>;
}

/** A flood that nothing but the rate limit ends is measured by so many requests. */
const MAX_REQUESTS = 120;
const AT_ONCE = 8;
const REPLY = "reply of the team";
/** Of all responses that are kept for a workspace, as the guide on limits says. */
const MAX_KEPT_BYTES = 64 * 1024 * 1024;
const PLANS = ["free", "enterprise"];
/** Three bytes each in UTF-8. */
const wide = (characters: number) => "漢".repeat(characters);

/** What a stranger and a tenant write at most: the largest bodies of each operation, until they are refused. */
export async function benchWrites({ build, bindings, operatorToken }: Abused): Promise<Report> {
  const served = await startWorker(build, bindings);
  try {
    const writes = await measureFloods(served, operatorToken);
    const note = `What is accepted is measured on the plan free with its rate limit lifted; an hour is what the rate limit and the bound allow. At most ${MAX_REQUESTS} requests each. A text and its index are in its agent's own object.`;
    return { tables: [tableOf(writes)], notes: [note], data: { writes } };
  } finally {
    await served.close();
  }
}

async function measureFloods(served: RunningWorker, operatorToken: string): Promise<Flooded[]> {
  const limitsOf = new Map<string, Limits>();
  for (const plan of PLANS) {
    const tenant = await createTenant(served.port, operatorToken, `limits-${plan}`, plan);
    const { limits } = await tenant.call<{ limits: Limits }>("GET", "/usage", undefined, 200);
    limitsOf.set(plan, limits);
  }
  const results: Flooded[] = [];
  for (let at = 0, count = 1; at < count; at++) {
    const tenant = await createTenant(served.port, operatorToken, `flood-${at}`, "free", { requests_per_minute: 1_000_000 });
    const floods = listFloods(tenant, await humanConversation(tenant));
    count = floods.length;
    results.push(await measureFlood(floods[at]!, tenant, served, { limitsOf, results }));
  }
  return results;
}

async function humanConversation({ call, agentId }: Tenant): Promise<string> {
  const { conversation_id: id } = await call<{ conversation_id: string }>("POST", `/agents/${agentId}/messages`, { message: "Hello" }, 200);
  await call("POST", `/conversations/${id}/messages`, { content: "I am here." }, 201);
  return id;
}

function listFloods({ agentId }: Tenant, human: string): Flood[] {
  const agent = `/api/v1/agents/${agentId}`;
  const widget = `/widget/v1/agents/${agentId}`;
  const conversation = `/api/v1/conversations/${human}`;
  const oneAddress = () => ({ "CF-Connecting-IP": "10.0.0.1" });
  const anyAddress = (n: number) => ({ "CF-Connecting-IP": `10.${n % 200}.${randomInt(256)}.${randomInt(256)}` });
  const lead = (n: number) => ({ name: wide(120), email: `a${n}@example.com`, message: wide(4000) });
  const question = () => ({ message: wide(2000) });
  const share = (limit: number, least: number) => Math.max(least, limit / 10);
  const visitor = { method: "POST", byVisitor: true };
  return [
    {
      ...visitor,
      operation: "lead, one address",
      bound: "10 an hour, or a tenth of the day's",
      path: `${widget}/leads`,
      body: lead,
      headers: oneAddress,
      perHour: ({ leads_per_day: day }) => Math.min(day!, share(day!, 10)),
    },
    {
      ...visitor,
      operation: "lead, any addresses",
      bound: "`leads_per_day`",
      path: `${widget}/leads`,
      body: lead,
      headers: anyAddress,
      perHour: ({ leads_per_day: day }) => day,
    },
    {
      ...visitor,
      operation: "visitor's message, one address",
      bound: "30 an hour, or a tenth of the day's",
      path: `${widget}/messages`,
      body: question,
      headers: oneAddress,
      perHour: ({ visitor_messages_per_day: day }) => Math.min(day!, share(day!, 30)),
    },
    {
      ...visitor,
      operation: "visitor's message, any addresses",
      bound: "`visitor_messages_per_day`",
      path: `${widget}/messages`,
      body: question,
      headers: anyAddress,
      perHour: ({ visitor_messages_per_day: day }) => day,
    },
    {
      method: "POST",
      operation: "question, each a conversation",
      bound: "`messages`",
      path: `${agent}/messages`,
      body: question,
      perHour: ({ messages }) => messages,
    },
    {
      method: "POST",
      operation: REPLY,
      bound: "`team_messages_per_day`",
      path: `${conversation}/messages`,
      body: () => ({ content: wide(8000) }),
      perHour: ({ team_messages_per_day: day }) => day,
    },
    {
      method: "POST",
      operation: "response kept for a repeat of it",
      beside: REPLY,
      bound: "64 MiB of responses",
      path: `${conversation}/messages`,
      body: () => ({ content: wide(8000) }),
      headers: (n) => ({ "Idempotency-Key": `flood-${n}` }),
      perHour: ({ team_messages_per_day: day }, storedBytes) => Math.min(day!, Math.floor(MAX_KEPT_BYTES / storedBytes)),
    },
    {
      method: "POST",
      operation: "curated answer",
      bound: "`answers_per_agent`",
      path: `${agent}/answers`,
      body: (n) => ({ question: `${n} ${wide(400)}`, answer: wide(8000) }),
      perHour: ({ answers_per_agent: answers, agents }) => answers! * agents!,
    },
    {
      method: "POST",
      operation: "text source",
      bound: "`knowledge_mb_per_agent`",
      path: `${agent}/sources`,
      body: (n) => ({ type: "text", name: `Text ${n}`, text: TEXT }),
      perHour: ({ knowledge_mb_per_agent: megabytes, agents }) => Math.floor((megabytes! * agents! * 1024 * 1024) / TEXT.length),
    },
    {
      method: "POST",
      operation: "search, repeatable",
      bound: "nothing is stored",
      path: `${agent}/search`,
      body: (n) => ({ query: `part ${n}` }),
      headers: (n) => ({ "Idempotency-Key": `search-${n}` }),
      perHour: () => undefined,
    },
  ];
}

/** Nearly 5 MB of words. */
const TEXT = "# Part\n\nThe setting is in the menu, and it takes effect at once.\n\n".repeat(75_000);

/** What is known before a flood: the plans' limits, and what earlier floods wrote. */
interface Known {
  limitsOf: Map<string, Limits>;
  results: readonly Flooded[];
}

async function measureFlood(flood: Flood, tenant: Tenant, served: RunningWorker, { limitsOf, results }: Known): Promise<Flooded> {
  const { operation, bound, method, path, body, headers, perHour, beside } = flood;
  console.error(`${operation} …`);
  const beforeBytes = await served.databaseBytes();
  let [sent, accepted, refusedAs]: [number, number, string | null] = [0, 0, null];
  const lane = async () => {
    while (sent < MAX_REQUESTS && refusedAs === null) {
      const n = sent++;
      const own = { ...(flood.byVisitor ? {} : tenant.authorization), ...headers?.(n) };
      const response = await sendAny(served.port, { method, path, headers: own, body: body(n) });
      const text = await response.text();
      if (response.status < 300) accepted++;
      else refusedAs ??= `${response.status} ${(JSON.parse(text) as { error: { code: string } }).error.code}`;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  const besideBytes = results.find((other) => other.operation === beside)?.storedBytes ?? 0;
  const storedBytes = ((await served.databaseBytes()) - beforeBytes) / Math.max(accepted, 1) - besideBytes;
  const atMost = (limits: Limits) => {
    const byRate = flood.byVisitor ? Number.POSITIVE_INFINITY : limits["requests_per_minute"]! * 60;
    return Math.min(byRate, perHour(limits, storedBytes) ?? Number.POSITIVE_INFINITY);
  };
  return {
    operation,
    bound,
    requestBytes: Buffer.byteLength(JSON.stringify(body(0))),
    accepted,
    refusedAs,
    storedBytes,
    perHour: Object.fromEntries([...limitsOf].map(([plan, limits]) => [plan, atMost(limits)])),
  };
}

function tableOf(floods: Flooded[]): Table {
  const columns = [
    "operation, largest body",
    "bound",
    "KB a request",
    "accepted",
    "then",
    "KB each in D1",
    ...PLANS.map((plan) => `an hour, ${plan}`),
  ];
  const kilobytes = (bytes: number) => (bytes / 1000).toFixed(1);
  const rows = floods.map(({ operation, bound, requestBytes, accepted, refusedAs, storedBytes, perHour }) => {
    const hours = PLANS.map((plan) => `${perHour[plan]} (${((perHour[plan]! * storedBytes) / 1e6).toFixed(1)} MB)`);
    return [operation, bound, kilobytes(requestBytes), accepted, refusedAs ?? "–", kilobytes(storedBytes), ...hours];
  });
  return { columns, rows };
}
