import { randomInt } from "node:crypto";
import { fetchFrom, type PreparedRequest } from "../load.ts";
import { forEach } from "../measure.ts";
import type { Report, Table } from "../report.ts";
import { type Build, type RunningService, withService } from "../service.ts";
import { createTenant, type Tenant } from "../tenant.ts";

/** A request with the largest body, which is sent again and again until it is refused. */
interface Flood {
  operation: string;
  /** The bound that ends it, in words. */
  bound: string;
  request: (n: number) => PreparedRequest;
  /** How many an hour a plan allows, apart from the rate limit; undefined if that is the only bound. */
  perHour: (limits: Limits, storedBytes: number) => number | undefined;
  /** The operation that each request includes: what that stores is not counted. */
  beside?: string;
}

type Limits = Record<string, number>;

/** A flood that nothing but the rate limit ends is measured by so many requests. */
const MAX_REQUESTS = 120;
const REPLY = "reply of the team";
/** The bound of all responses that are kept for a workspace, as the guide on limits says. */
const MAX_KEPT_BYTES = 64 * 1024 * 1024;
const PLANS = ["free", "enterprise"];
/** Returns characters that take three bytes each in UTF-8. */
const wide = (characters: number) => "漢".repeat(characters);
/** Nearly 5 MB of words. */
const TEXT = "# Part\n\nThe setting is in the menu, and it takes effect at once.\n\n".repeat(75_000);

/** Measures what a stranger and a tenant write at most: the largest bodies of each operation, until they are refused. */
export async function benchWrites(build: Build): Promise<Report> {
  return withService(build, { ALLOW_PRIVATE_TARGETS: "true" }, async (served) => {
    const { port, operatorToken } = served;
    const limitsOf = new Map<string, Limits>();
    for (const plan of PLANS) {
      const tenant = await createTenant(port, operatorToken, `limits-${plan}`, { plan, limits: {} });
      limitsOf.set(plan, (await tenant.call<{ limits: Limits }>("GET", "/usage")).limits);
    }
    const storedBytes = new Map<string, number>();
    const table: Table = [];
    for (let at = 0, count = 1; at < count; at++) {
      const limits = { requests_per_minute: 1_000_000 };
      const tenant = await createTenant(port, operatorToken, `flood-${at}`, { plan: "free", limits });
      const floods = listFloods(tenant, await humanConversation(tenant));
      count = floods.length;
      table.push(await measureFlood(floods[at]!, served, limitsOf, storedBytes));
    }
    const note = `What is accepted is measured on the plan free with its rate limit lifted; an hour is what the rate limit and the bound allow. At most ${MAX_REQUESTS} requests each. A text and its index are in its agent's own object.`;
    return { tables: [table], notes: [note] };
  });
}

async function humanConversation({ call, agentId }: Tenant): Promise<string> {
  const { conversation_id: id } = await call<{ conversation_id: string }>("POST", `/agents/${agentId}/messages`, { message: "Hello" });
  await call("POST", `/conversations/${id}/messages`, { content: "I am here." });
  return id;
}

function listFloods({ agentId, request }: Tenant, conversationId: string): Flood[] {
  const agent = `/agents/${agentId}`;
  const anyAddress = (n: number) => `10.${n % 200}.${randomInt(256)}.${randomInt(256)}`;
  // One address may use a tenth of the day's limit, and at least so many an hour.
  const byVisitor = (name: string, path: string, body: (n: number) => object, limit: string, least: number): Flood[] => {
    const requestFrom = (address: (n: number) => string) => (n: number) => ({
      method: "POST",
      path: `/widget/v1/agents/${agentId}/${path}`,
      headers: { "CF-Connecting-IP": address(n) },
      body: body(n),
    });
    return [
      {
        operation: `${name}, one address`,
        bound: `${least} an hour, or a tenth of the day's`,
        request: requestFrom(() => "10.0.0.1"),
        perHour: ({ [limit]: day }) => Math.min(day!, Math.max(least, day! / 10)),
      },
      { operation: `${name}, any addresses`, bound: `\`${limit}\``, request: requestFrom(anyAddress), perHour: ({ [limit]: day }) => day },
    ];
  };
  const withKey = (made: PreparedRequest, key: string) => ({ ...made, headers: { ...made.headers, "Idempotency-Key": key } });
  const lead = (n: number) => ({ name: wide(120), email: `a${n}@example.com`, message: wide(4000) });
  const question = () => ({ message: wide(2000) });
  const reply = () => request("POST", `/conversations/${conversationId}/messages`, { content: wide(8000) });
  return [
    ...byVisitor("lead", "leads", lead, "leads_per_day", 10),
    ...byVisitor("visitor's message", "messages", question, "visitor_messages_per_day", 30),
    {
      operation: "question, each a conversation",
      bound: "`messages`",
      request: () => request("POST", `${agent}/messages`, question()),
      perHour: ({ messages }) => messages,
    },
    {
      operation: "question to a human",
      bound: "`visitor_messages_per_day`",
      request: () => request("POST", `${agent}/messages`, { ...question(), conversation_id: conversationId }),
      perHour: ({ visitor_messages_per_day: day }) => day,
    },
    {
      operation: "erasure that finds nothing",
      bound: "`erasures_per_day`",
      request: (n) => request("DELETE", `/privacy/visitors?external_id=nobody-${n}`),
      perHour: ({ erasures_per_day: day }) => day,
    },
    {
      operation: REPLY,
      bound: "`team_messages_per_day`",
      request: reply,
      perHour: ({ team_messages_per_day: day }) => day,
    },
    {
      operation: "response kept for a repeat of it",
      beside: REPLY,
      bound: "64 MiB of responses",
      request: (n) => withKey(reply(), `flood-${n}`),
      perHour: ({ team_messages_per_day: day }, storedBytes) => Math.min(day!, Math.floor(MAX_KEPT_BYTES / storedBytes)),
    },
    {
      operation: "curated answer",
      bound: "`answers_per_agent`",
      request: (n) => request("POST", `${agent}/answers`, { question: `${n} ${wide(400)}`, answer: wide(8000) }),
      perHour: ({ answers_per_agent: answers, agents }) => answers! * agents!,
    },
    {
      operation: "text source",
      bound: "`knowledge_mb_per_agent`",
      request: (n) => request("POST", `${agent}/sources`, { type: "text", name: `Text ${n}`, text: TEXT }),
      perHour: ({ knowledge_mb_per_agent: megabytes, agents }) => Math.floor((megabytes! * agents! * 1024 * 1024) / TEXT.length),
    },
    {
      operation: "search, repeatable",
      bound: "nothing is stored",
      request: (n) => withKey(request("POST", `${agent}/search`, { query: `part ${n}` }), `search-${n}`),
      perHour: () => undefined,
    },
  ];
}

async function measureFlood(
  { operation, bound, request, perHour, beside = "" }: Flood,
  served: RunningService,
  limitsOf: ReadonlyMap<string, Limits>,
  storedBytes: Map<string, number>,
): Promise<Table[number]> {
  console.error(`${operation} …`);
  const beforeBytes = await served.databaseBytes();
  let [accepted, refusedAs]: [number, string | undefined] = [0, undefined];
  await forEach(Array(MAX_REQUESTS), async (_, n) => {
    if (refusedAs !== undefined) return;
    const response = await fetchFrom(served.port, request(n));
    const text = await response.text();
    if (response.ok) accepted++;
    else refusedAs ??= `${response.status} ${(JSON.parse(text) as { error: { code: string } }).error.code}`;
  });
  const addedBytes = (await served.databaseBytes()) - beforeBytes;
  const eachBytes = addedBytes / Math.max(accepted, 1) - (storedBytes.get(beside) ?? 0);
  storedBytes.set(operation, eachBytes);
  // Requests of visitors do not count to the rate limit of the workspace.
  const isLimited = request(0).path.startsWith("/api/");
  const hours = [...limitsOf].map(([plan, limits]) => {
    const byRate = isLimited ? limits["requests_per_minute"]! * 60 : Number.POSITIVE_INFINITY;
    const count = Math.min(byRate, perHour(limits, eachBytes) ?? Number.POSITIVE_INFINITY);
    return [`an hour, ${plan}`, `${count} (${((count * eachBytes) / 1e6).toFixed(1)} MB)`];
  });
  const kilobytes = (bytes: number) => (bytes / 1000).toFixed(1);
  return {
    "operation, largest body": operation,
    bound,
    "KB a request": kilobytes(Buffer.byteLength(JSON.stringify(request(0).body ?? ""))),
    accepted,
    "refused with": refusedAs ?? "–",
    "KB each in D1": kilobytes(eachBytes),
    ...Object.fromEntries(hours),
  };
}
