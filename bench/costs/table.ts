import { PLAN_NAMES } from "../../src/platform/db/columns.ts";
import { type Limits, limitsOf, MEGABYTE } from "../../src/workspaces/plans.ts";
import type { Report, Table } from "../report.ts";
import type { Crawl, Measurements } from "./measure.ts";
import {
  INCLUDED,
  type Item,
  NEURONS_A_MILLION,
  OBJECT_GB,
  PRICES,
  STORED_GB,
  type Usage,
  VECTOR_MONTH,
  VECTORIZE_QUERY,
} from "./prices.ts";

// What cannot be measured without the network, and is assumed.

/** About 120 words, and the reasoning of a model that is told to reason little. */
const ANSWER_TOKENS = 300;
/** The time until the end of an answer of that length, at 80 tokens a second, during which the conversation's object is active. */
const ANSWER_SECONDS = 4;
/** How long a hop keeps an object active that does not wait for a model. */
const HOP_SECONDS = 0.02;
/** The tokens of a question, with the text that is put before it. */
const QUESTION_TOKENS = 40;
/** The rows that a search reads of the vectors in an agent's own object. They are not measured, because nothing embeds locally. */
const VECTOR_ROWS = 200;
/** An answered question that begins a conversation causes conversation.created and message.ai_replied. */
const EVENTS_A_QUESTION = 2;

/** An agent with more vectors has them in Vectorize: the default of MAX_EMBEDDED_VECTORS in production. */
const MAX_EMBEDDED_VECTORS = 50_000;
/** A socket is opened again after ten minutes, and pings every 30 seconds; the platform bills twenty messages as a request. */
const SOCKET_MINUTES = 10;
const PINGS_A_MINUTE = 2;
const MESSAGES_A_REQUEST = 20;
/** To open a page's socket, the Worker checks the session and the key, and opens the channel. */
const CONNECT_HOPS = 3;

const THOUSAND = 1_000;
const MONTHLY_DAYS = 30;
const MONTHLY_MINUTES = MONTHLY_DAYS * 24 * 60;

/** Returns what one answered question uses, with the model and the vectors that were not measured. */
export function usageOfAsk(measured: Usage, promptTokens: number): Usage {
  const { modelInput, modelOutput, embedding } = NEURONS_A_MILLION;
  const neuron = (promptTokens * modelInput + ANSWER_TOKENS * modelOutput + QUESTION_TOKENS * embedding) / 1e6;
  const seconds = ANSWER_SECONDS + ((measured.objectRequest ?? 0) - 1) * HOP_SECONDS;
  const objectRowRead = (measured.objectRowRead ?? 0) + VECTOR_ROWS;
  return { ...measured, objectRowRead, objectGbSecond: seconds * OBJECT_GB, neuron };
}

/** Returns what one delivered event uses, if the consumer runs for it alone; it takes up to a hundred at once. */
export function usageOfEvent(measured: Usage): Usage {
  return { ...measured, queueOperation: 3 };
}

/** Returns what a page of a website uses that is read for the first time, with the neurons of its vectors. */
export function usageOfPage({ page, embeddedTokens }: Pick<Crawl, "page" | "embeddedTokens">): Usage {
  return { ...withObjectTime(page, (page.workerCpuMs ?? 0) / 1000), neuron: (embeddedTokens * NEURONS_A_MILLION.embedding) / 1e6 };
}

/** Adds the time that objects are active for their hops, and for further work. */
export function withObjectTime(measured: Usage, furtherSeconds = 0): Usage {
  const seconds = (measured.objectRequest ?? 0) * HOP_SECONDS + furtherSeconds;
  return { ...measured, objectGbSecond: seconds * OBJECT_GB };
}

/** Returns what a mail uses besides the message that it brings or takes: its job in the queue, and the Worker that handles it. */
export function usageOfMail(): Usage {
  return { mail: 1, workerRequest: 1, queueOperation: 3 };
}

/** Returns what an open page of the console uses in an hour in which nothing changes: its socket hibernates. */
export function usageOfOpenPage(): Usage {
  const connects = 60 / SOCKET_MINUTES;
  const hops = connects * CONNECT_HOPS;
  const pings = (60 * PINGS_A_MINUTE) / MESSAGES_A_REQUEST;
  return { workerRequest: connects, objectRequest: hops + pings, objectGbSecond: hops * HOP_SECONDS * OBJECT_GB, dataPoint: connects };
}

/** Returns the price in dollars, beyond what the plan includes. */
export function priceOf(usage: Usage): number {
  return Object.entries(usage).reduce((sum, [item, amount]) => sum + amount * PRICES[item as Item], 0);
}

const LABELS: Record<Item, string> = {
  workerRequest: "Worker requests",
  workerCpuMs: "Worker CPU, ms",
  d1RowRead: "D1 rows read",
  d1RowWritten: "D1 rows written",
  objectRequest: "Durable Object requests",
  objectGbSecond: "Durable Object GB-s",
  objectRowRead: "Durable Object rows read",
  objectRowWritten: "Durable Object rows written",
  queueOperation: "Queue operations",
  neuron: "Workers AI neurons",
  logMb: "Logs, MB",
  dataPoint: "Analytics Engine points",
  mail: "Mails",
};

/** Reports what a question, an event and a page cost, what a workspace costs at the limits of its plan, and the standing costs. */
export function createReport(measurements: Measurements): Report {
  const [ask, event] = [usageOfAsk(measurements.ask, measurements.promptTokens), usageOfEvent(measurements.event)];
  const page = usageOfPage(measurements.crawl);
  return {
    tables: [itemTable({ questions: ask, events: event, pages: page }), planTable(ask, event), limitTable(measurements), includedTable()],
    notes: standingCosts(measurements),
    data: measurements,
  };
}

function itemTable(uses: Record<string, Usage>): Table {
  const row = (name: string, cells: (usage: Usage) => [string, string]) => {
    const columns = Object.entries(uses).flatMap(([what, usage]) => {
      const [amount, cost] = cells(usage);
      return [
        [`1,000 ${what} use`, amount],
        [`cost of ${what}`, cost],
      ] as const;
    });
    return { resource: name, ...Object.fromEntries(columns) };
  };
  const used = (Object.keys(LABELS) as Item[]).filter((item) => Object.values(uses).some((usage) => usage[item]));
  const items = used.map((item) =>
    row(LABELS[item], (usage) => {
      const amount = (usage[item] ?? 0) * THOUSAND;
      return count(amount) === "0" ? ["", ""] : [count(amount), dollars(amount * PRICES[item])];
    }),
  );
  return [...items, row("**all**", (usage) => ["", `**${dollars(priceOf(usage) * THOUSAND)}**`])];
}

/** What a workspace costs in a month at each limit of its plan. */
export function costsAtLimits(limits: Limits, measured: Measurements): Record<string, number> {
  const { crawl } = measured;
  const [read, reply, unchanged] = [measured.read, measured.reply, crawl.unchanged].map((usage) => priceOf(withObjectTime(usage))) as [
    number,
    number,
    number,
  ];
  const [ask, event] = [usageOfAsk(measured.ask, measured.promptTokens), usageOfEvent(measured.event)].map(priceOf) as [number, number];
  const page = priceOf(usageOfPage(crawl));
  const team = limits.team_messages_per_day * MONTHLY_DAYS;
  const toPersons = Math.max(0, limits.visitor_messages_per_day * MONTHLY_DAYS - limits.messages);
  const pagesOfAgent = limits.knowledge_mb_per_agent / crawl.textMb;
  const pages = limits.agents * pagesOfAgent;
  const isEmbedded = pagesOfAgent * crawl.chunks <= MAX_EMBEDDED_VECTORS;
  return {
    "`messages`: questions": limits.messages * ask,
    "`visitor_messages_per_day`, `team_messages_per_day`": (toPersons + team) * reply,
    "the same answers and replies by mail": (limits.messages + team) * priceOf(usageOfMail()),
    "`evaluation_cases_per_day`": limits.evaluation_cases_per_day * MONTHLY_DAYS * ask,
    "`deliveries_per_day`": limits.webhooks ? limits.deliveries_per_day * MONTHLY_DAYS * event : 0,
    "`requests_per_minute`: lists of conversations": limits.requests_per_minute * MONTHLY_MINUTES * read,
    "`syncs_per_day`: pages that changed": limits.syncs_per_day * MONTHLY_DAYS * page,
    "`knowledge_mb_per_agent` of all `agents`: storage":
      ((pages * crawl.objectBytes) / 1e9) * STORED_GB.object + (isEmbedded ? 0 : pages * crawl.chunks * VECTOR_MONTH),
    "the same, read again each week without changes": pages * (MONTHLY_DAYS / 7) * unchanged,
    "`attachments_mb`: storage, without R2": ((limits.attachments_mb * MEGABYTE) / 1e9) * STORED_GB.object,
    "`delivery_log_mb`: storage": limits.webhooks ? ((limits.delivery_log_mb * MEGABYTE) / 1e9) * STORED_GB.d1 : 0,
  };
}

function limitTable(measured: Measurements): Table {
  const costs = PLAN_NAMES.map((plan) => [plan, costsAtLimits(limitsOf(plan, {}), measured)] as const);
  const row = (name: string, of: (plan: Record<string, number>) => string) =>
    Object.fromEntries([["a month at the limit", name], ...costs.map(([plan, own]) => [plan, of(own)])]);
  const all = row("**all limits at once**", (own) => `**${dollars(Object.values(own).reduce((sum, cost) => sum + cost, 0))}**`);
  const once = PLAN_NAMES.map((plan) => {
    const { agents, knowledge_mb_per_agent: megabytes } = limitsOf(plan, {});
    return [plan, dollars(((agents * megabytes) / measured.crawl.textMb) * priceOf(usageOfPage(measured.crawl)))] as const;
  });
  return [
    ...Object.keys(costs[0]![1]).map((name) => row(name, (own) => (own[name] === 0 ? "" : dollars(own[name]!)))),
    all,
    Object.fromEntries([["a month at the limit", "once: to read and index that knowledge"], ...once]),
  ];
}

function includedTable(): Table {
  return INCLUDED.map(({ what, amount, more, page }) => ({ resource: what, "included each month": amount, more: `[${more}](${page})` }));
}

function planTable(ask: Usage, event: Usage): Table {
  return PLAN_NAMES.map((plan) => {
    const { messages, webhooks } = limitsOf(plan, {});
    const events = webhooks ? messages * EVENTS_A_QUESTION : 0;
    const model = messages * (ask.neuron ?? 0) * PRICES.neuron;
    const all = messages * priceOf(ask) + events * priceOf(event);
    return {
      "plan, with all of its messages used": plan,
      "questions a month": count(messages),
      events: count(events),
      model: dollars(model),
      "everything else": dollars(all - model),
      "total a month": dollars(all),
      "per 1,000 questions": dollars((all / messages) * THOUSAND),
    };
  });
}

function standingCosts({ sweep, conversationBytes, questionBytes, eventBytes, promptTokens, crawl }: Measurements): string[] {
  const rows = sweep.rowsRead * MONTHLY_MINUTES;
  const price = rows * PRICES.d1RowRead + MONTHLY_MINUTES * PRICES.workerRequest;
  return [
    `A question gives the model ${count(promptTokens)} tokens to read; ${ANSWER_TOKENS} to write are assumed, in ${ANSWER_SECONDS} s.`,
    `A conversation of one question adds ${count(conversationBytes)} bytes to its database, each further question ${count(questionBytes)}; an event, for as long as the log is kept, ${count(eventBytes)}.`,
    `An agent with more vectors than fit its own object asks Vectorize: ${dollars(VECTORIZE_QUERY * THOUSAND)} more for 1,000 asks.`,
    `Chunks of a page: ${count(crawl.chunks)}. It has ${count(crawl.textMb * MEGABYTE)} bytes of text and adds ${count(crawl.objectBytes)} bytes to its agent's object; ${count(crawl.embeddedTokens)} tokens are embedded.`,
    `To read 1,000 pages again that have not changed: ${dollars(priceOf(withObjectTime(crawl.unchanged)) * THOUSAND)}. 1,000 mails: ${dollars(priceOf(usageOfMail()) * THOUSAND)}.`,
    `A page of the console that is open for 1,000 hours while nothing changes: ${dollars(priceOf(usageOfOpenPage()) * THOUSAND)}.`,
    `The cron, each minute and for each database: ${sweep.d1Trips} trip and ${count(sweep.rowsRead)} rows, ${dollars(price)} a month.`,
  ];
}

function count(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: value < 10 ? 1 : 0 });
}

function dollars(value: number): string {
  return `$${value.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: value < 0.1 ? 4 : 2 })}`;
}
