import service, {
  ChatSession as Session,
  ConversationIndex as Conversations,
  KnowledgeIndex as Index,
  LeadIndex as Leads,
  LiveChannel as Live,
  RegionalEntry as Entry,
  RegionalWorker as Worker,
  WorkspaceGate as Gate,
} from "../../src/index.ts";

export * from "../../src/index.ts";

/*
 * The service with distances between its parts: the bindings are wrapped so that each call takes as long as the way from its
 * caller to its target. Only `npm run bench -- --world` serves it.
 *
 * Requests come in at the edge, far from everything. The databases are in one region, as are the objects that are created
 * there by a location hint. The other objects are in another region, because each is created near its first caller.
 */
type Place = "edge" | "region" | "elsewhere";

const NEAR_MS = 1;
/** The time of a round trip between two places, which the bench sets. */
let farMs = 0;
/** The place of each object, by its id. */
const places = new Map<string, Place>();

/** Does the work in another place, and returns with its result. */
async function travel<Result>(from: Place, to: Place, act: () => Promise<Result>): Promise<Result> {
  if (farMs === 0) return act();
  if (from === to) {
    await scheduler.wait(NEAR_MS);
    return act();
  }
  await scheduler.wait(farMs / 2);
  const result = await act();
  await scheduler.wait(farMs / 2);
  return result;
}

interface FarStatement {
  inner: D1PreparedStatement;
  bind: (...values: unknown[]) => FarStatement;
  all: () => Promise<D1Result>;
  run: () => Promise<D1Result>;
  raw: () => Promise<unknown[]>;
}

function farStatement(inner: D1PreparedStatement, here: Place): FarStatement {
  return {
    inner,
    bind: (...values) => farStatement(inner.bind(...values), here),
    all: () => travel(here, "region", () => inner.all()),
    run: () => travel(here, "region", () => inner.run()),
    raw: () => travel(here, "region", () => inner.raw()),
  };
}

function farDatabase(inner: D1Database, here: Place): D1Database {
  return {
    prepare: (query: string) => farStatement(inner.prepare(query), here),
    batch: (statements: FarStatement[]) => travel(here, "region", () => inner.batch(statements.map((statement) => statement.inner))),
  } as unknown as D1Database;
}

type Stub = Record<string, (...args: unknown[]) => Promise<unknown>>;

function farNamespace(inner: DurableObjectNamespace, here: Place): DurableObjectNamespace {
  const getByName = (name: string, options?: DurableObjectNamespaceGetDurableObjectOptions) => {
    const stub = inner.getByName(name, options);
    const place = options?.locationHint === undefined ? "elsewhere" : "region";
    places.set(stub.id.toString(), place);
    const get =
      (_: object, method: string) =>
      (...args: unknown[]) =>
        travel(here, place, () => (stub as unknown as Stub)[method]!(...args));
    return new Proxy({}, { get });
  };
  return { getByName } as unknown as DurableObjectNamespace;
}

/** Returns the bindings for code in this place. */
function seenFrom(here: Place, env: Env): Env {
  const objects = Object.entries(env).filter((binding): binding is [string, DurableObjectNamespace] => isNamespace(binding[1]));
  const far = Object.fromEntries(objects.map(([name, inner]) => [name, farNamespace(inner, here)]));
  return { ...env, ...far, DB: farDatabase(env.DB, here) };
}

function isNamespace(binding: unknown): boolean {
  return typeof binding === "object" && binding !== null && "getByName" in binding;
}

function placed(original: new (ctx: DurableObjectState, env: Env) => object) {
  return class extends original {
    constructor(ctx: DurableObjectState, env: Env) {
      super(ctx, seenFrom(places.get(ctx.id.toString()) ?? "region", env));
    }
  };
}

export const WorkspaceGate = placed(Gate);
export const KnowledgeIndex = placed(Index);
export const ChatSession = placed(Session);
export const ConversationIndex = placed(Conversations);
export const LeadIndex = placed(Leads);
export const LiveChannel = placed(Live);
export const RegionalEntry = placed(Entry);

/** It runs in the place of the entry that calls it. */
export class RegionalWorker extends Worker {
  constructor(ctx: ExecutionContext, env: Env) {
    super(ctx, seenFrom("region", env));
  }
}

let edge: Env | undefined;

export default {
  ...service,
  fetch(request, env, ctx) {
    const url = new URL(request.url);
    if (url.pathname === "/distance") {
      farMs = Number(url.searchParams.get("ms"));
      return Response.json({ ms: farMs });
    }
    edge ??= seenFrom("edge", env);
    return service.fetch(request, edge, ctx);
  },
} satisfies ExportedHandler<Env>;
