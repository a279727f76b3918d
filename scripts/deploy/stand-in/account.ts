import { randomUUID } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { WORKERS_AI_MODELS } from "../../../src/models/limits.ts";

/** A request that the stand-in received. */
export interface Call {
  method: string;
  /** Below the account, such as `queues`. */
  path: string;
  query: URLSearchParams;
  body: string;
  /** The stand-in's own address. */
  origin: string;
}

/** Patterns of `METHOD path`, with the function that returns the API's `result`; its `name` is the pattern's first group. */
export type Routes = readonly (readonly [RegExp, (call: Call, name: string) => unknown])[];

/** An error of the API, with the code that wrangler knows it by. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: number;

  constructor(status: number, code: number, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Small, so that a list of queues has several pages. */
const PAGE_SIZE = 5;

function pageOf<T>(all: readonly T[], query: URLSearchParams): T[] {
  const page = Number(query.get("page") ?? 1);
  return all.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE);
}

type AskedDatabase = { name: string } & Database["place"];

interface AskedConsumer {
  script_name: string;
  dead_letter_queue?: string;
}

function bodyOf({ body }: Call): unknown {
  return JSON.parse(body);
}

/** Takes what fits out of a list. @throws ApiError where nothing does. */
function take<T>(all: T[], fits: (one: T) => boolean, error: ApiError): T {
  return all.splice(all.indexOf(find(all, fits, error)), 1)[0]!;
}

function find<T>(all: readonly T[], fits: (one: T) => boolean, error: ApiError): T {
  const found = all.find(fits);
  if (found === undefined) throw error;
  return found;
}

interface Database {
  uuid: string;
  name: string;
  sqlite: DatabaseSync;
  /** The place that was asked for when it was created. */
  place: { primary_location_hint?: string; jurisdiction?: string };
}

/** SQL that the platform's query endpoint cuts in two: it ends a trigger at the END of a CASE. */
const CUT_IN_TWO = /\bCREATE\s+TRIGGER\b[\s\S]*\bCASE\b/i;
const NO_DATABASE = new ApiError(404, 7_404, "The database could not be found");

/** The databases of an account: each is SQLite in memory, so that migrations really run. */
export class D1 {
  readonly #databases: Database[] = [];
  /** Files that were uploaded for an import, by their hash. */
  readonly #uploads = new Map<string, string>();

  readonly routes: Routes = [
    [/^GET d1\/database$/, ({ query }) => pageOf(this.#databases, query).map(toDatabaseResult)],
    [/^POST d1\/database$/, (call) => toDatabaseResult(this.#createAsAsked(bodyOf(call) as AskedDatabase))],
    [/^GET d1\/database\/([^/]+)$/, (_, key) => toDatabaseResult(this.find(key))],
    [/^POST d1\/database\/([^/]+)\/query$/, (call, key) => this.#query(key, (bodyOf(call) as { sql: string }).sql)],
    [/^DELETE d1\/database\/([^/]+)$/, (_, key) => void take(this.#databases, isNamed(key), NO_DATABASE)],
    [/^POST d1\/database\/([^/]+)\/import$/, (call, key) => this.#import(key, call)],
    [/^PUT uploads\/([^/]+)$/, ({ body }, etag) => this.#uploads.set(etag, body).size],
  ];

  get names(): string[] {
    return this.#databases.map(({ name }) => name);
  }

  /** A database by name or id. */
  find(key: string): Database {
    return find(this.#databases, isNamed(key), NO_DATABASE);
  }

  create(name: string, place: Database["place"] = {}): Database {
    if (this.names.includes(name)) throw new ApiError(400, 7_502, "A database with that name already exists");
    const database = { uuid: randomUUID(), name, sqlite: new DatabaseSync(":memory:"), place };
    this.#databases.push(database);
    return database;
  }

  /** The tables that migrations created in a database. */
  tables(name: string): string[] {
    const rows = this.find(name).sqlite.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").all();
    return rows.map((row) => String(row["name"]));
  }

  #createAsAsked({ name, ...place }: AskedDatabase): Database {
    return this.create(name, place);
  }

  #query(key: string, sql: string) {
    const { sqlite } = this.find(key);
    try {
      if (CUT_IN_TWO.test(sql)) throw new Error("incomplete input");
      if (/^\s*SELECT/i.test(sql)) return [{ results: sqlite.prepare(sql).all(), success: true, meta: {} }];
      executeAtomically(sqlite, sql);
      return [{ results: [], success: true, meta: {} }];
    } catch (error) {
      throw new ApiError(400, 7_500, `${(error as Error).message}: SQLITE_ERROR`);
    }
  }

  /** Imports a whole file, which SQLite itself splits. */
  #import(key: string, call: Call) {
    const { action, etag } = bodyOf(call) as { action: string; etag: string };
    if (action === "init") return { filename: etag, upload_url: `${call.origin}/client/v4/uploads/${etag}` };
    executeAtomically(this.find(key).sqlite, this.#uploads.get(etag)!);
    const meta = { duration: 1, rows_read: 0, rows_written: 1, size_after: 4096 };
    return { success: true, status: "complete", messages: [], at_bookmark: "b", result: { num_queries: 1, final_bookmark: "b", meta } };
  }
}

function isNamed(key: string) {
  return ({ uuid, name }: Database) => key === uuid || key === name;
}

function executeAtomically(sqlite: DatabaseSync, sql: string): void {
  sqlite.exec("BEGIN");
  try {
    sqlite.exec(sql);
    sqlite.exec("COMMIT");
  } catch (error) {
    sqlite.exec("ROLLBACK");
    throw error;
  }
}

function toDatabaseResult({ uuid, name, place }: Database) {
  return { uuid, name, jurisdiction: place.jurisdiction ?? null };
}

interface Consumer {
  consumer_id: string;
  type: "worker";
  script: string;
  dead_letter_queue?: string;
}

interface Queue {
  queue_id: string;
  queue_name: string;
  consumers: Consumer[];
}

const NO_QUEUE = new ApiError(404, 11_000, "Queue not found");

/** The queues of an account with their consumers. */
export class Queues {
  readonly #queues: Queue[] = [];

  readonly routes: Routes = [
    [/^GET queues$/, ({ query }) => pageOf(this.#named(query.getAll("name")), query).map(toQueueResult)],
    [/^POST queues$/, (call) => toQueueResult(this.create((bodyOf(call) as Queue).queue_name))],
    [/^POST queues\/([^/]+)\/consumers$/, (call, id) => this.#subscribe(this.#byId(id), bodyOf(call) as AskedConsumer)],
    [/^PUT queues\/([^/]+)\/consumers\/[^/]+$/, (_, id) => this.#byId(id).consumers[0]],
    [/^DELETE queues\/([^/]+)\/consumers\/[^/]+$/, (_, id) => void this.#byId(id).consumers.shift()],
    [/^DELETE queues\/([^/]+)$/, (_, id) => void take(this.#queues, (queue) => queue.queue_id === id, NO_QUEUE)],
  ];

  get names(): string[] {
    return this.#queues.map(({ queue_name: name }) => name);
  }

  /** The consumers of a queue: each one's script, and its dead-letter queue. */
  consumersOf(name: string): string[] {
    return this.#named([name]).flatMap(({ consumers }) =>
      consumers.map(({ script, dead_letter_queue: dead }) => `${script} ${dead ?? ""}`.trim()),
    );
  }

  create(name: string): Queue {
    if (this.names.includes(name)) throw new ApiError(409, 11_009, `Queue name '${name}' is already taken.`);
    const queue = { queue_id: randomUUID(), queue_name: name, consumers: [] };
    this.#queues.push(queue);
    return queue;
  }

  /** Makes a script consume a queue. */
  consume(name: string, script: string, dead?: string): Consumer {
    if (dead !== undefined && !this.names.includes(dead)) throw new ApiError(400, 11_003, "Dead letter queue not found");
    const consumer: Consumer = {
      consumer_id: randomUUID(),
      type: "worker",
      script,
      ...(dead !== undefined && { dead_letter_queue: dead }),
    };
    for (const { consumers } of this.#named([name])) consumers.push(consumer);
    return consumer;
  }

  #named(names: readonly string[]): Queue[] {
    return this.#queues.filter(({ queue_name: name }) => names.length === 0 || names.includes(name));
  }

  #byId(id: string): Queue {
    return find(this.#queues, (queue) => queue.queue_id === id, NO_QUEUE);
  }

  #subscribe({ queue_name: name }: Queue, asked: AskedConsumer) {
    return this.consume(name, asked.script_name, asked.dead_letter_queue);
  }
}

function toQueueResult(queue: Queue) {
  const date = "2026-11-01";
  const counts = { producers_total_count: 0, consumers_total_count: queue.consumers.length };
  return { ...queue, ...counts, producers: [], created_on: date, modified_on: date };
}

/** A Vectorize index with its shape and what it filters by. */
interface Index {
  name: string;
  config: { dimensions: number; metric: string };
  properties: { propertyName: string; indexType: string }[];
}

const NO_INDEX = new ApiError(410, 3_005, "vectorize.index.not_found");

/** The Vectorize indexes of an account. */
export class Vectorize {
  readonly indexes: Index[] = [];

  readonly routes: Routes = [
    [/^GET vectorize\/v2\/indexes$/, () => this.indexes],
    [/^DELETE vectorize\/v2\/indexes\/([^/]+)$/, (_, name) => void take(this.indexes, (one) => one.name === name, NO_INDEX)],
    [/^POST vectorize\/v2\/indexes$/, (call) => this.create(bodyOf(call) as Index)],
    [/^GET vectorize\/v2\/indexes\/([^/]+)\/metadata_index\/list$/, (_, name) => ({ metadataIndexes: this.#find(name).properties })],
    [
      /^POST vectorize\/v2\/indexes\/([^/]+)\/metadata_index\/create$/,
      (call, name) => this.#find(name).properties.push(bodyOf(call) as Index["properties"][number]),
    ],
  ];

  create({ name, config }: Omit<Index, "properties">, properties: Index["properties"] = []): Index {
    if (this.indexes.some((index) => index.name === name)) throw new ApiError(409, 3_002, "vectorize.index.duplicate_name");
    const index = { name, config, properties, created_on: "2026-11-01", modified_on: "2026-11-01", description: "" };
    this.indexes.push(index);
    return index;
  }

  #find(name: string): Index {
    return find(this.indexes, (one) => one.name === name, NO_INDEX);
  }
}

/** A zone with its Email Routing. */
export interface Zone {
  id: string;
  name: string;
  status: string;
  supportsSubaddress: boolean;
  /** The domains that may send mail; undefined if the token may not read them. */
  sending: string[] | undefined;
  /** The address that is routed to a Worker, by the Worker's name. */
  routed: Record<string, string>;
  /** The DNS records by host; undefined if the token may not read them. */
  records?: Record<string, { type: string; content: string }[]> | undefined;
}

const PLANS = {
  free: [],
  paid: [{ rate_plan: { id: "workers_paid", public_name: "Workers Paid" } }],
  enterprise: [{ rate_plan: { id: "enterprise", public_name: "Enterprise" } }],
};

/** The products of an account that are switched on: at first all that a deployment needs. */
export class Products {
  plan: keyof typeof PLANS | "unreadable" = "paid";
  metrics: "on" | "off" | "unreadable" = "on";
  models: string[] = Object.values(WORKERS_AI_MODELS);
  zones: Zone[] = [];
  /** The custom domains of all Workers. */
  domains: { hostname: string; service: string }[] = [];

  readonly routes: Routes = [
    [/^GET subscriptions$/, () => readable(this.plan === "unreadable" ? undefined : PLANS[this.plan])],
    [/^POST analytics_engine\/sql$/, () => readable(this.metrics === "on" ? {} : undefined)],
    [/^GET ai\/models\/search$/, ({ query }) => this.models.flatMap((name) => (name.includes(query.get("search") ?? "") ? { name } : []))],
    [/^GET zones$/, ({ query }) => pageOf(this.zones, query)],
    [/^GET zones\/([^/]+)\/dns_records$/, ({ query }, id) => readable(this.#zone(id).records)[query.get("name") ?? ""] ?? []],
    [/^GET workers\/domains$/, ({ query }) => pageOf(this.domains, query)],
    [/^GET zones\/([^/]+)\/email\/routing$/, (_, id) => ({ enabled: true, support_subaddress: this.#zone(id).supportsSubaddress })],
    [/^GET zones\/([^/]+)\/email\/routing\/rules$/, (_, id) => toRules(this.#zone(id))],
    [
      /^GET zones\/([^/]+)\/email\/sending\/subdomains$/,
      (_, id) => readable(this.#zone(id).sending).map((name) => ({ name, enabled: true })),
    ],
  ];

  #zone(id: string): Zone {
    return this.zones.find((zone) => zone.id === id)!;
  }
}

/** @throws ApiError for what the token may not read. */
function readable<T>(value: T | undefined): T {
  if (value === undefined) throw new ApiError(403, 10_000, "Authentication error");
  return value;
}

function toRules({ routed }: Zone) {
  return Object.entries(routed).map(([worker, value]) => ({
    enabled: true,
    matchers: [{ type: "literal", field: "to", value }],
    actions: [{ type: "worker", value: [worker] }],
  }));
}
