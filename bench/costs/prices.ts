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
  // https://developers.cloudflare.com/workers/observability/logs/workers-logs/#pricing
  logEvent: 0.6 / 1e6,
  // https://developers.cloudflare.com/analytics/analytics-engine/pricing/
  dataPoint: 0.25 / 1e6,
  // https://developers.cloudflare.com/email-service/platform/pricing/
  mail: 0.35 / 1e3,
} as const;

export type Item = keyof typeof PRICES;

/** How much an operation uses of each billed item. */
export type Usage = Partial<Record<Item, number>>;

/** The amounts that the plan's $5 include each month; of Workers AI each day. */
export const INCLUDED: { what: string; amount: string }[] = [
  { what: "Worker requests", amount: "10 million" },
  { what: "Worker CPU", amount: "30 million ms" },
  { what: "D1 rows read / written", amount: "25 billion / 50 million" },
  { what: "D1 storage", amount: "5 GB, then $0.75 a GB" },
  { what: "Durable Object requests", amount: "1 million" },
  { what: "Durable Object duration", amount: "400,000 GB-s" },
  { what: "Durable Object rows read / written", amount: "25 billion / 50 million" },
  { what: "Durable Object storage", amount: "5 GB, then $0.20 a GB" },
  { what: "Queue operations", amount: "1 million" },
  { what: "Vectorize dimensions queried / stored", amount: "50 million / 10 million, then $0.05 per 100 million stored" },
  { what: "Workers AI", amount: "10,000 neurons a day" },
  { what: "Log events", amount: "20 million" },
  { what: "Data points of Analytics Engine", amount: "10 million" },
  { what: "Outgoing mails", amount: "3,000" },
];

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

/** A Durable Object is billed for 128 MB while it works, whatever it uses. */
export const OBJECT_GB = 0.128;
