import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { DatabaseSync } from "node:sqlite";
import { text } from "node:stream/consumers";
import { WORKERS_AI_MODELS } from "../../src/models/limits.ts";

/** A call that the stand-in was sent. */
export interface Call {
  method: string;
  /** Below the account, such as `queues`. */
  path: string;
  query: URLSearchParams;
  body: string;
  /** Where it was sent. */
  origin: string;
}

/** Answers a call with the API's `result`; the name is the first group of the route's pattern. */
type Handler = (call: Call, name: string) => unknown;

/** Patterns of `METHOD path`, with what answers them. */
export type Routes = readonly (readonly [RegExp, Handler])[];

/** An error of the API, with the code that wrangler knows it by. */
class ApiError extends Error {
  readonly status: number;
  readonly code: number;

  constructor(status: number, code: number, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

interface Database {
  uuid: string;
  name: string;
  sqlite: DatabaseSync;
}

/** Where the platform's query endpoint ends a trigger: at the first END before a semicolon, be it that of a CASE. */
const TRIGGER = /^\s*CREATE\s+TRIGGER\b[\s\S]*?\bEND\s*;/i;
const STATEMENT = /^[^;]*;?/;

/** Splits SQL as the platform's query endpoint does, which cuts some triggers in two. */
function splitForQuery(sql: string): string[] {
  const statements: string[] = [];
  for (let rest = sql; rest.trim() !== "";) {
    const [statement] = (TRIGGER.exec(rest) ?? STATEMENT.exec(rest))!;
    statements.push(statement);
    rest = rest.slice(statement.length);
  }
  return statements;
}

/** The databases of an account: each is SQLite in memory, so that migrations really run. */
export class D1 {
  readonly #databases: Database[] = [];
  /** Files that were uploaded to be imported, by their hash. */
  readonly #uploads = new Map<string, string>();

  readonly routes: Routes = [
    [/^GET d1\/database$/, ({ query }) => this.#page(Number(query.get("page") ?? 1), Number(query.get("per_page") ?? 10))],
    [/^POST d1\/database$/, ({ body }) => toDatabaseResult(this.create((JSON.parse(body) as { name: string }).name))],
    [/^GET d1\/database\/([^/]+)$/, (_, key) => toDatabaseResult(this.find(key))],
    [/^POST d1\/database\/([^/]+)\/query$/, ({ body }, key) => this.#query(key, (JSON.parse(body) as { sql: string }).sql)],
    [/^DELETE d1\/database\/([^/]+)$/, (_, key) => this.#databases.splice(this.#databases.indexOf(this.find(key)), 1).length],
    [/^POST d1\/database\/([^/]+)\/import$/, (call, key) => this.#import(key, call)],
    [/^PUT uploads\/([^/]+)$/, ({ body }, etag) => this.#uploads.set(etag, body).size],
  ];

  get names(): string[] {
    return this.#databases.map(({ name }) => name);
  }

  /** A database by name or id. */
  find(key: string): Database {
    const database = this.#databases.find(({ uuid, name }) => key === uuid || key === name);
    if (!database) throw new ApiError(404, 7_404, "The database could not be found");
    return database;
  }

  create(name: string): Database {
    if (this.names.includes(name)) throw new ApiError(400, 7_502, "A database with that name already exists");
    const database = { uuid: randomUUID(), name, sqlite: new DatabaseSync(":memory:") };
    this.#databases.push(database);
    return database;
  }

  /** The tables of a database, so far as migrations made them. */
  tables(name: string): string[] {
    return this.find(name)
      .sqlite.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
      .all()
      .map((row) => String(row["name"]));
  }

  #page(page: number, size: number) {
    return this.#databases.slice((page - 1) * size, page * size).map(toDatabaseResult);
  }

  #query(key: string, sql: string) {
    const { sqlite } = this.find(key);
    try {
      if (/^\s*SELECT/i.test(sql)) return [{ results: sqlite.prepare(sql).all(), success: true, meta: {} }];
      atOnce(sqlite, splitForQuery(sql));
      return [{ results: [], success: true, meta: {} }];
    } catch (error) {
      throw new ApiError(400, 7_500, `${(error as Error).message}: SQLITE_ERROR`);
    }
  }

  /** Takes a whole file, which SQLite itself splits. */
  #import(key: string, { body, origin }: Call) {
    const { action, etag } = JSON.parse(body) as { action: string; etag: string };
    if (action === "init") return { filename: etag, upload_url: `${origin}/client/v4/uploads/${etag}` };
    atOnce(this.find(key).sqlite, [this.#uploads.get(etag)!]);
    const meta = { duration: 1, rows_read: 0, rows_written: 1, size_after: 4096 };
    return { success: true, status: "complete", messages: [], at_bookmark: "b", result: { num_queries: 1, final_bookmark: "b", meta } };
  }
}

/** All of it or nothing. */
function atOnce(sqlite: DatabaseSync, parts: readonly string[]): void {
  sqlite.exec("BEGIN");
  try {
    for (const part of parts) sqlite.exec(part);
    sqlite.exec("COMMIT");
  } catch (error) {
    sqlite.exec("ROLLBACK");
    throw error;
  }
}

function toDatabaseResult({ uuid, name }: Database) {
  return { uuid, name };
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

/** Small, so that a list of queues is one of several pages. */
const PAGE_SIZE = 5;

/** The queues of an account with their consumers. */
export class Queues {
  readonly #queues: Queue[] = [];

  readonly routes: Routes = [
    [/^GET queues$/, ({ query }) => this.#page(Number(query.get("page") ?? 1), query.getAll("name"))],
    [/^POST queues$/, ({ body }) => toQueueResult(this.create((JSON.parse(body) as { queue_name: string }).queue_name))],
    [/^POST queues\/([^/]+)\/consumers$/, ({ body }, id) => this.#subscribe(this.#byId(id), body)],
    [/^PUT queues\/([^/]+)\/consumers\/[^/]+$/, (_, id) => this.#byId(id).consumers[0]],
    [/^DELETE queues\/([^/]+)\/consumers\/[^/]+$/, (_, id) => this.#byId(id).consumers.splice(0, 1).length],
    [/^DELETE queues\/([^/]+)$/, (_, id) => this.#queues.splice(this.#queues.indexOf(this.#byId(id)), 1).length],
  ];

  get names(): string[] {
    return this.#queues.map(({ queue_name: name }) => name);
  }

  /** The consumers of a queue, by script, with where their dead letters go. */
  consumersOf(name: string): string[] {
    const queue = this.#queues.find(({ queue_name: one }) => one === name);
    return queue?.consumers.map(({ script, dead_letter_queue: dead }) => `${script} ${dead ?? ""}`.trim()) ?? [];
  }

  create(name: string): Queue {
    if (this.names.includes(name)) throw new ApiError(409, 11_009, `Queue name '${name}' is already taken.`);
    const queue = { queue_id: randomUUID(), queue_name: name, consumers: [] };
    this.#queues.push(queue);
    return queue;
  }

  /** Has a script consume a queue. */
  consume(name: string, consumer: Omit<Consumer, "consumer_id" | "type">): Consumer {
    const { dead_letter_queue: dead } = consumer;
    if (dead !== undefined && !this.names.includes(dead)) throw new ApiError(400, 11_003, "Dead letter queue not found");
    const made: Consumer = { consumer_id: randomUUID(), type: "worker", ...consumer };
    this.#queues.find(({ queue_name: one }) => one === name)?.consumers.push(made);
    return made;
  }

  #byId(id: string): Queue {
    const queue = this.#queues.find(({ queue_id: one }) => one === id);
    if (!queue) throw new ApiError(404, 11_000, "Queue not found");
    return queue;
  }

  #page(page: number, names: string[]) {
    const found = names.length > 0 ? this.#queues.filter(({ queue_name: name }) => names.includes(name)) : this.#queues;
    return found.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE).map(toQueueResult);
  }

  #subscribe({ queue_name: name }: Queue, body: string) {
    const { script_name: script, dead_letter_queue: dead } = JSON.parse(body) as { script_name: string; dead_letter_queue?: string };
    return this.consume(name, { script, ...(dead !== undefined && { dead_letter_queue: dead }) });
  }
}

function toQueueResult(queue: Queue) {
  const { consumers } = queue;
  return {
    ...queue,
    producers: [],
    producers_total_count: 0,
    consumers_total_count: consumers.length,
    created_on: "2026-11-01",
    modified_on: "2026-11-01",
  };
}

interface Property {
  propertyName: string;
  indexType: string;
}

/** An index with its shape and what it filters by. */
export interface Index {
  name: string;
  config: { dimensions: number; metric: string };
  properties: Property[];
}

/** The Vectorize indexes of an account. */
export class Vectorize {
  readonly indexes: Index[] = [];

  readonly routes: Routes = [
    [/^GET vectorize\/v2\/indexes$/, () => this.indexes],
    [/^DELETE vectorize\/v2\/indexes\/([^/]+)$/, (_, name) => this.indexes.splice(this.indexes.indexOf(this.#find(name)), 1).length],
    [/^POST vectorize\/v2\/indexes$/, ({ body }) => this.create(JSON.parse(body) as Omit<Index, "properties">)],
    [/^GET vectorize\/v2\/indexes\/([^/]+)\/metadata_index\/list$/, (_, name) => ({ metadataIndexes: this.#find(name).properties })],
    [
      /^POST vectorize\/v2\/indexes\/([^/]+)\/metadata_index\/create$/,
      ({ body }, name) => {
        this.#find(name).properties.push(JSON.parse(body) as Property);
        return { mutationId: randomUUID() };
      },
    ],
  ];

  create({ name, config }: Omit<Index, "properties">, properties: Property[] = []): Index {
    if (this.indexes.some((index) => index.name === name)) throw new ApiError(409, 3_002, "vectorize.index.duplicate_name");
    const index = { name, config, properties, created_on: "2026-11-01", modified_on: "2026-11-01", description: "" };
    this.indexes.push(index);
    return index;
  }

  #find(name: string): Index {
    const index = this.indexes.find((one) => one.name === name);
    if (!index) throw new ApiError(410, 3_005, "vectorize.index.not_found");
    return index;
  }
}

/** A binding in the form in which a Worker is uploaded; secrets are bindings. */
export interface Binding {
  name: string;
  type: string;
  text?: string;
  id?: string;
  queue_name?: string;
  index_name?: string;
}

interface Metadata {
  bindings: Binding[];
  keep_bindings?: string[];
  migrations?: { new_tag: string };
}

/** Whether what a binding names exists in the account. */
type Exists = (binding: Binding) => boolean;
/** Whether a queue is consumed by the Worker. */
type IsConsumer = () => boolean;

/** The one Worker of an account. */
export class Workers {
  /** By name; undefined before the first deployment. */
  bindings: Map<string, Binding> | undefined;
  #migrationTag: string | undefined;
  readonly #exists: Exists;
  readonly #isConsumer: IsConsumer;

  constructor(exists: Exists, isConsumer: IsConsumer) {
    this.#exists = exists;
    this.#isConsumer = isConsumer;
  }

  readonly routes: Routes = [
    [/^GET workers\/services\/[^/]+$/, () => this.#service()],
    [/^GET workers\/scripts\/[^/]+\/secrets$/, () => this.#secrets().map(({ name, type }) => ({ name, type }))],
    [/^GET workers\/scripts\/[^/]+\/settings$/, () => ({ bindings: [...this.#worker().values()] })],
    [/^GET workers\/scripts\/[^/]+\/deployments$/, () => ({ deployments: this.#worker() && [] })],
    [/^POST workers\/scripts\/[^/]+\/assets-upload-session$/, () => ({ jwt: "jwt", buckets: [] })],
    [/^PUT workers\/scripts\/[^/]+$/, (call) => this.#upload(call)],
    [/^POST workers\/scripts\/[^/]+\/versions$/, (call) => this.#upload(call)],
    [/^DELETE workers\/services\/[^/]+$/, () => this.#delete()],
    // Before it deletes a Worker, wrangler looks for what older ones stored their assets in.
    [/^GET storage\/kv\/namespaces$/, () => []],
    [/^POST workers\/scripts\/[^/]+\/deployments$/, () => ({ id: randomUUID() })],
    [/^PATCH workers\/scripts\/[^/]+\/script-settings$/, () => ({})],
    [/^GET workers\/workers\/([^/]+)$/, (_, name) => ({ id: name, name, subdomain: { enabled: true, previews_enabled: true } })],
    [/^GET workers\/subdomain$/, () => ({ subdomain: "stand-in" })],
    [/^POST workers\/scripts\/[^/]+\/subdomain$/, () => ({ enabled: true, previews_enabled: true })],
    [/^PUT workers\/scripts\/[^/]+\/schedules$/, () => ({})],
  ];

  /** The secrets that the Worker holds, by name. */
  get secrets(): Record<string, string> {
    return Object.fromEntries(this.bindings ? this.#secrets().map(({ name, text }) => [name, text ?? ""]) : []);
  }

  /** Makes the Worker as an earlier deployment left it. */
  hold(bindings: Binding[], migrationTag: string): void {
    this.bindings = new Map(bindings.map((binding) => [binding.name, binding]));
    this.#migrationTag = migrationTag;
  }

  #secrets(): Binding[] {
    return [...this.#worker().values()].filter(({ type }) => type === "secret_text");
  }

  #worker(): Map<string, Binding> {
    if (!this.bindings) throw new ApiError(404, 10_007, "This Worker does not exist on your account.");
    return this.bindings;
  }

  #delete() {
    this.#worker();
    if (this.#isConsumer()) throw new ApiError(400, 10_064, "script still in use as a consumer for a queue");
    this.bindings = undefined;
  }

  #service() {
    this.#worker();
    const script = { last_deployed_from: "wrangler", migration_tag: this.#migrationTag, tags: [] };
    return { default_environment: { environment: "production", script } };
  }

  #upload({ body }: Call) {
    const { bindings, keep_bindings: kept = [], migrations } = metadataIn(body);
    const before = this.bindings ?? new Map<string, Binding>();
    const after = new Map([...before].filter(([, { type }]) => kept.includes(type)));
    for (const binding of bindings) {
      const old = before.get(binding.name);
      if (binding.type === "inherit" && !old) throw new ApiError(400, 10_057, `inherit binding '${binding.name}' is invalid`);
      if (!this.#exists(binding))
        throw new ApiError(400, 10_021, `binding ${binding.name} of type ${binding.type} names nothing that exists`);
      after.set(binding.name, binding.type === "inherit" ? old! : binding);
    }
    this.bindings = after;
    this.#migrationTag = migrations?.new_tag ?? this.#migrationTag;
    const id = randomUUID();
    return { id, etag: id, deployment_id: id.replaceAll("-", ""), startup_time_ms: 30, resources: { script: { etag: id } } };
  }
}

/** The part of a multipart upload that describes the Worker. */
function metadataIn(body: string): Metadata {
  const found = /name="metadata"\r\n\r\n(.*?)\r\n--/s.exec(body)?.[1];
  if (found === undefined) throw new ApiError(400, 10_021, "The upload describes no Worker");
  return JSON.parse(found) as Metadata;
}

/** A zone with what Email Routing does in it. */
export interface Zone {
  id: string;
  name: string;
  status: string;
  supportsSubaddress: boolean;
  /** The address that is routed to a Worker, by the Worker's name. */
  routed: Record<string, string>;
}

/** What is switched on in an account; as it stands here, all that a deployment needs. */
export class Products {
  plan: "free" | "paid" | "unreadable" = "paid";
  metrics: "on" | "off" | "unreadable" = "on";
  models: string[] = Object.values(WORKERS_AI_MODELS);
  zones: Zone[] = [];

  readonly routes: Routes = [
    [/^GET subscriptions$/, () => this.#subscriptions()],
    [/^POST analytics_engine\/sql$/, () => this.#metrics()],
    [
      /^GET ai\/models\/search$/,
      ({ query }) => this.models.filter((name) => name.includes(query.get("search") ?? "")).map((name) => ({ name })),
    ],
    [/^GET zones$/, ({ query }) => this.zones.slice((Number(query.get("page")) - 1) * PAGE_SIZE, Number(query.get("page")) * PAGE_SIZE)],
    [/^GET zones\/([^/]+)\/email\/routing$/, (_, id) => ({ enabled: true, support_subaddress: this.#zone(id).supportsSubaddress })],
    [/^GET zones\/([^/]+)\/email\/routing\/rules$/, (_, id) => toRules(this.#zone(id))],
  ];

  #zone(id: string): Zone {
    return this.zones.find((zone) => zone.id === id)!;
  }

  #subscriptions() {
    if (this.plan === "unreadable") throw new ApiError(403, 10_000, "Authentication error");
    return this.plan === "paid" ? [{ rate_plan: { id: "workers_paid", public_name: "Workers Paid" } }] : [];
  }

  #metrics() {
    if (this.metrics !== "on") throw new ApiError(403, 10_000, "Forbidden");
    return {};
  }
}

function toRules({ routed }: Zone) {
  return Object.entries(routed).map(([worker, value]) => ({
    enabled: true,
    matchers: [{ type: "literal", field: "to", value }],
    actions: [{ type: "worker", value: [worker] }],
  }));
}

/** The account that the stand-in is. */
export const ACCOUNT = { id: "0123456789abcdef0123456789abcdef", name: "Stand-in" };
const ACCOUNT_ROUTES: Routes = [
  [/^GET user\/tokens\/verify$/, () => ({ id: "token", status: "active" })],
  [/^GET user$/, () => ({ id: "user", email: "operator@example.com" })],
  [/^GET accounts$/, () => [ACCOUNT]],
  [/^GET memberships$/, () => [{ id: "membership", account: ACCOUNT }]],
];

/** Where a POST only asks. */
const ASKING = /^(graphql|analytics_engine\/sql)$/;

/**
 * The part of the Cloudflare API that a deployment reaches, on this machine: it keeps what it is sent, refuses what the
 * real one would, and records every call. A call that it does not know is refused, so that a new one is noticed.
 */
export class CloudflareStandIn {
  readonly d1: D1 = new D1();
  readonly queues: Queues = new Queues();
  readonly vectorize: Vectorize = new Vectorize();
  readonly products: Products = new Products();
  readonly workers: Workers = new Workers(
    ({ type, id, queue_name: queue, index_name: index }) => {
      if (type === "analytics_engine" && this.products.metrics !== "on")
        throw new ApiError(
          403,
          10_089,
          "You need to enable Analytics Engine. Head to the Cloudflare Dashboard to enable:\n  https://dash.cloudflare.com/",
        );
      if (type === "queue") return this.queues.names.includes(queue ?? "");
      if (type === "vectorize") return this.vectorize.indexes.some(({ name }) => name === index);
      return type !== "d1" || this.d1.find(id ?? "") !== undefined;
    },
    () => this.queues.names.some((name) => this.queues.consumersOf(name).length > 0),
  );
  readonly calls: Call[] = [];
  /** Calls that are refused as if the API were down, as `METHOD path`. */
  down: RegExp | undefined;
  readonly #server: Server = createServer((request, response) => void this.#respond(request, response));

  /** Answers where wrangler is to look for the API. */
  async listen(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/client/v4`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** The calls that change something, as `METHOD path` without identifiers. */
  changes(): string[] {
    const isRead = ({ method, path, body }: Call) =>
      method === "GET" || ASKING.test(path) || (path.endsWith("/query") && /"sql":"\s*(SELECT|CREATE TABLE IF NOT EXISTS)/.test(body));
    return this.calls.filter((call) => !isRead(call)).map(({ method, path }) => `${method} ${path.replace(/[0-9a-f-]{36}/g, "…")}`);
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const sent = await text(request);
    const { status, body } = this.#answer(request, sent);
    // Where files are uploaded to, the answer names the hash of what came.
    const headers = { "Content-Type": "application/json", ETag: createHash("md5").update(sent).digest("hex") };
    response.writeHead(status, headers).end(JSON.stringify(body));
  }

  #answer(request: IncomingMessage, body: string) {
    const url = new URL(request.url ?? "", "http://api");
    const path = url.pathname.replace(/^\/client\/v4\//, "").replace(`accounts/${ACCOUNT.id}/`, "");
    const call: Call = { method: request.method ?? "", path, query: url.searchParams, body, origin: `http://${request.headers.host}` };
    this.calls.push(call);
    try {
      if (call.path === "graphql") return { status: 200, body: this.#graph() };
      return { status: 200, body: { success: true, errors: [], messages: [], result: this.#route(call) ?? null } };
    } catch (error) {
      const { status, code, message } = error instanceof ApiError ? error : new ApiError(500, 10_013, String(error));
      return { status, body: { success: false, errors: [{ code, message }], messages: [], result: null } };
    }
  }

  #graph() {
    const isReadable = this.products.metrics !== "unreadable";
    return isReadable
      ? { data: { viewer: { accounts: [{}] } }, errors: null }
      : { data: null, errors: [{ message: "not authorized for that account" }] };
  }

  #route(call: Call): unknown {
    const request = `${call.method} ${call.path}`;
    if (this.down?.test(request)) throw new ApiError(403, 10_000, "Authentication error");
    for (const { routes } of [{ routes: ACCOUNT_ROUTES }, this.d1, this.queues, this.vectorize, this.workers, this.products]) {
      for (const [pattern, handle] of routes) {
        const found = pattern.exec(request);
        if (found) return handle(call, decodeURIComponent(found[1] ?? ""));
      }
    }
    throw new ApiError(404, 7_003, `The stand-in does not know ${request}`);
  }
}
