/*
 * The platform's price list, read in November 2026 from the pages named here. It needs the Workers Paid plan, $5 a month,
 * which includes the amounts of INCLUDED. Prices are in US dollars, and a month has 30 days.
 */

/** The price of one unit of each item, beyond what the plan includes. */
export const PRICES = {
  // https://developers.cloudflare.com/workers/platform/pricing/
  workerRequest: 0.3 / 1e6,
  workerCpuMs: 0.02 / 1e6,
  // https://developers.cloudflare.com/d1/platform/pricing/
  d1RowRead: 0.001 / 1e6,
  d1RowWritten: 1 / 1e6,
  // https://developers.cloudflare.com/durable-objects/platform/pricing/
  objectRequest: 0.15 / 1e6,
  objectGbSecond: 12.5 / 1e6,
  objectRowRead: 0.001 / 1e6,
  objectRowWritten: 1 / 1e6,
  // https://developers.cloudflare.com/queues/platform/pricing/ : to write, to read and to delete a message are one each.
  queueOperation: 0.4 / 1e6,
  // https://developers.cloudflare.com/workers-ai/platform/pricing/
  neuron: 0.011 / 1e3,
  // https://developers.cloudflare.com/observability/pricing/ , from December 2026: $0.25 to ingest a GB, and $0.10 a month to store it,
  // which it is for seven days.
  logMb: (0.25 + (0.1 * 7) / 30) / 1e3,
  // https://developers.cloudflare.com/analytics/analytics-engine/pricing/ : not billed yet.
  dataPoint: 0.25 / 1e6,
  // https://developers.cloudflare.com/email-service/platform/pricing/ : to receive a mail is free, except for the Worker's request.
  mail: 0.35 / 1e3,
} as const;

export type Item = keyof typeof PRICES;

/** How much an operation uses of each billed item. */
export type Usage = Partial<Record<Item, number>>;

/** What the plan's $5 include each month, the price of more, and the page that says so. */
export const INCLUDED: { what: string; amount: string; more: string; page: string }[] = [
  { what: "Worker requests", amount: "10 million", more: "$0.30 a million", page: page("workers/platform/pricing") },
  { what: "Worker CPU", amount: "30 million ms", more: "$0.02 a million", page: page("workers/platform/pricing") },
  { what: "D1 rows read", amount: "25 billion", more: "$0.001 a million", page: page("d1/platform/pricing") },
  { what: "D1 rows written", amount: "50 million", more: "$1.00 a million", page: page("d1/platform/pricing") },
  { what: "D1 storage", amount: "5 GB", more: "$0.75 a GB", page: page("d1/platform/pricing") },
  { what: "Durable Object requests", amount: "1 million", more: "$0.15 a million", page: page("durable-objects/platform/pricing") },
  { what: "Durable Object duration", amount: "400,000 GB-s", more: "$12.50 a million", page: page("durable-objects/platform/pricing") },
  { what: "Durable Object rows read", amount: "25 billion", more: "$0.001 a million", page: page("durable-objects/platform/pricing") },
  { what: "Durable Object rows written", amount: "50 million", more: "$1.00 a million", page: page("durable-objects/platform/pricing") },
  { what: "Durable Object storage", amount: "5 GB", more: "$0.20 a GB", page: page("durable-objects/platform/pricing") },
  { what: "Queue operations", amount: "1 million", more: "$0.40 a million", page: page("queues/platform/pricing") },
  { what: "Vectorize dimensions queried", amount: "50 million", more: "$0.01 a million", page: page("vectorize/platform/pricing") },
  { what: "Vectorize dimensions stored", amount: "10 million", more: "$0.05 per 100 million", page: page("vectorize/platform/pricing") },
  { what: "Workers AI", amount: "10,000 neurons a day", more: "$0.011 per 1,000", page: page("workers-ai/platform/pricing") },
  { what: "Mails sent", amount: "3,000", more: "$0.35 per 1,000", page: page("email-service/platform/pricing") },
  { what: "Logs ingested", amount: "50 GB", more: "$0.25 a GB", page: page("observability/pricing") },
  { what: "Logs stored", amount: "12 GB-months", more: "$0.10 a GB-month", page: page("observability/pricing") },
  { what: "Analytics Engine points", amount: "10 million", more: "$0.25 a million", page: page("analytics/analytics-engine/pricing") },
  { what: "Analytics Engine queries", amount: "1 million", more: "$1.00 a million", page: page("analytics/analytics-engine/pricing") },
];

function page(path: string): string {
  return `https://developers.cloudflare.com/${path}/`;
}

/** The neurons for a million tokens of the default models (src/models). */
export const NEURONS_A_MILLION = {
  /** @cf/zai-org/glm-4.7-flash: $0.060 in, $0.400 out. */
  modelInput: 5_500,
  modelOutput: 36_400,
  /** @cf/baai/bge-m3: $0.012. */
  embedding: 1_075,
} as const;

/** What a question costs besides where an agent has more vectors than fit its object: @cf/baai/bge-m3 has 1,024 dimensions. */
// https://developers.cloudflare.com/vectorize/platform/pricing/
export const VECTORIZE_QUERY = (1_024 * 0.01) / 1e6;

/** What a vector in Vectorize costs a month: it is stored, and counts once as queried. */
export const VECTOR_MONTH = 1_024 * (0.05 / 1e8 + 0.01 / 1e6);

/** A Durable Object is billed for 128 MB while it works, whatever it uses. */
export const OBJECT_GB = 0.128;

/** A month of one GB in the storage of objects, and in D1. */
export const STORED_GB = { object: 0.2, d1: 0.75 } as const;

/** What the platform adds to each log line: ids, times and the names of Worker and handler. It is assumed. */
export const LOG_LINE_BYTES = 1_000;
