import { PLAN_NAMES } from "../../src/platform/db/columns.ts";
import { limitsOf } from "../../src/workspaces/plans.ts";
import type { Report, Table } from "../report.ts";
import { CHARACTERS_A_TOKEN, type Measurements, TEXT_CHARACTERS } from "./measure.ts";
import { INCLUDED, type Item, NEURONS_A_MILLION, OBJECT_GB, PRICES, type Usage, VECTORIZE_QUERY } from "./prices.ts";

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

const THOUSAND = 1_000;
const MONTHLY_MINUTES = 30 * 24 * 60;

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

/** Returns what ten thousand characters of text use once, with their vectors, or a page of a website, which takes a message more. */
function usageOfText(measured: Usage): Usage {
  const neuron = ((TEXT_CHARACTERS / CHARACTERS_A_TOKEN) * NEURONS_A_MILLION.embedding) / 1e6;
  return { ...measured, queueOperation: 3 * 2, neuron };
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
  logEvent: "Log events",
  dataPoint: "Data points of Analytics Engine",
  mail: "Outgoing mails",
};

/** Reports what a question and an event cost, what each plan costs when all of its messages are used, and the standing costs. */
export function createReport(measurements: Measurements): Report {
  const [ask, event] = [usageOfAsk(measurements.ask, measurements.promptTokens), usageOfEvent(measurements.event)];
  const included = INCLUDED.map(({ what, amount }) => `${what} ${amount}`).join("; ");
  return {
    tables: [itemTable(ask, event), planTable(ask, event, usageOfText(measurements.text))],
    notes: [...standingCosts(measurements), `Included in the $5 of the Workers Paid plan each month: ${included}.`],
    data: measurements,
  };
}

function itemTable(ask: Usage, event: Usage): Table {
  const row = (name: string, cells: (usage: Usage) => [string, string]) => {
    const [[asks, asksCost], [events, eventsCost]] = [cells(ask), cells(event)];
    return {
      resource: name,
      "1,000 questions use": asks,
      "cost of questions": asksCost,
      "1,000 events use": events,
      "cost of events": eventsCost,
    };
  };
  const used = (Object.keys(LABELS) as Item[]).filter((item) => ask[item] || event[item]);
  const items = used.map((item) =>
    row(LABELS[item], (usage) => {
      const amount = (usage[item] ?? 0) * THOUSAND;
      return amount === 0 ? ["", ""] : [count(amount), dollars(amount * PRICES[item])];
    }),
  );
  return [...items, row("**all**", (usage) => ["", `**${dollars(priceOf(usage) * THOUSAND)}**`])];
}

function planTable(ask: Usage, event: Usage, text: Usage): Table {
  return PLAN_NAMES.map((plan) => {
    const { agents, knowledge_mb_per_agent: megabytes, messages, webhooks } = limitsOf(plan, {});
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
      "all of its knowledge, once": dollars(agents * megabytes * (1e6 / TEXT_CHARACTERS) * priceOf(text)),
    };
  });
}

function standingCosts({ sweep, conversationBytes, questionBytes, eventBytes, promptTokens, text }: Measurements): string[] {
  const rows = sweep.rowsRead * MONTHLY_MINUTES;
  const price = rows * PRICES.d1RowRead + MONTHLY_MINUTES * PRICES.workerRequest;
  return [
    `A question gives the model ${count(promptTokens)} tokens to read; ${ANSWER_TOKENS} to write are assumed, in ${ANSWER_SECONDS} s.`,
    `A conversation of one question adds ${count(conversationBytes)} bytes to its database, each further question ${count(questionBytes)}; an event, for as long as the log is kept, ${count(eventBytes)}.`,
    `An agent with more vectors than fit its own object asks Vectorize: ${dollars(VECTORIZE_QUERY * THOUSAND)} more for 1,000 asks.`,
    `A text of ${count(TEXT_CHARACTERS)} characters, or a page of a website of that length, costs ${dollars(priceOf(usageOfText(text)) * THOUSAND)} for 1,000 of them, of which ${dollars((usageOfText(text).neuron ?? 0) * PRICES.neuron * THOUSAND)} are for vectors.`,
    `1,000 outgoing mails cost ${dollars(PRICES.mail * THOUSAND)}.`,
    `The cron, each minute and for each database: ${sweep.d1Trips} trip and ${count(sweep.rowsRead)} rows, ${dollars(price)} a month.`,
  ];
}

function count(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: value < 10 ? 1 : 0 });
}

function dollars(value: number): string {
  return `$${value.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: value < 0.1 ? 4 : 2 })}`;
}
