import { PLAN_NAMES } from "../../src/platform/db/columns.ts";
import { limitsOf } from "../../src/workspaces/plans.ts";
import type { Report, Table } from "../report.ts";
import type { Measured, Measurements } from "./measure.ts";
import { INCLUDED, type Item, NEURONS_A_MILLION, OBJECT_GB, PRICES, VECTORIZE_QUERY } from "./prices.ts";

/** What an operation uses of each thing that is billed. */
type Usage = Partial<Record<Item, number>>;

// What cannot be measured without the network, and is assumed.

/** Some 120 words and the thinking of a model that is told to think little. */
const ANSWER_TOKENS = 300;
/** From the question to the end of an answer of that length, at some 80 tokens a second; the conversation's object works as long. */
const ANSWER_SECONDS = 4;
/** What a hop into an object keeps it working, where it does not wait for a model. */
const HOP_SECONDS = 0.02;
/** A question, with what is put before it. */
const QUESTION_TOKENS = 40;
/** What a search reads of the vectors in an agent's own object; none were measured, for nothing embeds locally. */
const VECTOR_ROWS = 200;
/** Events of an answered question that begins a conversation: conversation.created and message.ai_replied. */
const EVENTS_A_QUESTION = 2;

const THOUSAND = 1_000;
const MONTHLY_MINUTES = 30 * 24 * 60;

/** What one answered question uses. */
export function usageOfAsk(measured: Measured, promptTokens: number): Usage {
  const { modelInput, modelOutput, embedding } = NEURONS_A_MILLION;
  const neurons = (promptTokens * modelInput + ANSWER_TOKENS * modelOutput + QUESTION_TOKENS * embedding) / 1e6;
  const seconds = ANSWER_SECONDS + (measured.objectHops - 1) * HOP_SECONDS;
  const usage = usageOf({ ...measured, objectRowsRead: measured.objectRowsRead + VECTOR_ROWS });
  return { ...usage, objectGbSecond: seconds * OBJECT_GB, neuron: neurons };
}

/** What one delivered event uses; its consumer runs for it alone, though it takes up to a hundred at once. */
export function usageOfEvent(measured: Measured): Usage {
  return { ...usageOf(measured), queueOperation: 3 };
}

function usageOf({ objectHops, d1RowsRead, d1RowsWritten, objectRowsRead, objectRowsWritten, cpuMs }: Measured): Usage {
  return {
    workerRequest: 1,
    workerCpuMs: cpuMs,
    d1RowRead: d1RowsRead,
    d1RowWritten: d1RowsWritten,
    objectRequest: objectHops,
    objectRowRead: objectRowsRead,
    objectRowWritten: objectRowsWritten,
  };
}

/** What something costs in dollars, beyond what is included. */
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
};

/** What a question and an event cost, what each plan costs when all of its messages are used, and what costs something at rest. */
export function createReport(measurements: Measurements): Report {
  const [ask, event] = [usageOfAsk(measurements.ask, measurements.promptTokens), usageOfEvent(measurements.event)];
  const included = INCLUDED.map(({ what, amount }) => `${what} ${amount}`).join("; ");
  return {
    tables: [itemTable(ask, event), planTable(ask, event)],
    notes: [...standingCosts(measurements), `Included in the $5 of the Workers Paid plan each month: ${included}.`],
    data: measurements,
  };
}

function itemTable(ask: Usage, event: Usage): Table {
  const cells = (usage: Usage, item: Item) => {
    const amount = (usage[item] ?? 0) * THOUSAND;
    return amount === 0 ? ["", ""] : [count(amount), dollars(amount * PRICES[item])];
  };
  const rows = (Object.keys(LABELS) as Item[]).map((item) => [LABELS[item], ...cells(ask, item), ...cells(event, item)]);
  const sums = ["**all**", "", `**${dollars(priceOf(ask) * THOUSAND)}**`, "", `**${dollars(priceOf(event) * THOUSAND)}**`];
  return { columns: ["resource", "1,000 questions use", "cost", "1,000 events use", "cost"], rows: [...rows, sums] };
}

function planTable(ask: Usage, event: Usage): Table {
  const model = (ask.neuron ?? 0) * PRICES.neuron;
  const rows = PLAN_NAMES.map((plan) => {
    const { messages, webhooks } = limitsOf(plan, {});
    const events = webhooks ? messages * EVENTS_A_QUESTION : 0;
    const rest = messages * (priceOf(ask) - model) + events * priceOf(event);
    const all = messages * model + rest;
    const prices = [messages * model, rest, all, (all / messages) * THOUSAND].map(dollars);
    return [plan, count(messages), count(events), ...prices];
  });
  const columns = [
    "plan, with all of its messages used",
    "questions a month",
    "events",
    "model",
    "everything else",
    "total a month",
    "per 1,000 questions",
  ];
  return { columns, rows };
}

function standingCosts({ sweep, conversationBytes, questionBytes, eventBytes, promptTokens }: Measurements): string[] {
  const rows = sweep.rowsRead * MONTHLY_MINUTES;
  const price = rows * PRICES.d1RowRead + MONTHLY_MINUTES * PRICES.workerRequest;
  return [
    `A question gives the model ${count(promptTokens)} tokens to read; ${ANSWER_TOKENS} to write are assumed, in ${ANSWER_SECONDS} s.`,
    `A conversation of one question adds ${count(conversationBytes)} bytes to its database, each further question ${count(questionBytes)}; an event, for as long as the log is kept, ${count(eventBytes)}.`,
    `An agent with more vectors than fit its own object asks Vectorize: ${dollars(VECTORIZE_QUERY * THOUSAND)} more for 1,000 asks.`,
    `The cron, each minute and for each database: ${sweep.d1Trips} trip and ${count(sweep.rowsRead)} rows, ${dollars(price)} a month.`,
  ];
}

function count(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: value < 10 ? 1 : 0 });
}

function dollars(value: number): string {
  return `$${value.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: value < 0.1 ? 4 : 2 })}`;
}
