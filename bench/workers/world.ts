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
 * The service, with distances between its parts: bindings are wrapped so that each call takes as long as from where its caller
 * is to where it goes. Only `npm run bench -- --world` serves it.
 *
 * Requests arrive at the edge, far from everything. The databases are in one region, and so are the objects that are created
 * there by a location hint. The others are in another region: each is created near its first caller, wherever that was.
 */
type Place = "edge" | "region" | "elsewhere";

const NEAR_MS = 1;
/** The round trip between two places, which the bench sets. */
let farMs = 0;
/** Where each object is, by its id. */
const places = new Map<string, Place>();

/** Does something in another place, and comes back. */
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

class FarStatement {
  constructor(
    readonly inner: D1PreparedStatement,
    private readonly here: Place,
  ) {}

  bind(...values: unknown[]): FarStatement {
    return new FarStatement(this.inner.bind(...values), this.here);
  }

  all(): Promise<D1Result> {
    return travel(this.here, "region", () => this.inner.all());
  }

  run(): Promise<D1Result> {
    return travel(this.here, "region", () => this.inner.run());
  }

  raw(): Promise<unknown[]> {
    return travel(this.here, "region", () => this.inner.raw());
  }
}

function farDatabase(inner: D1Database, here: Place): D1Database {
  return {
    prepare: (query: string) => new FarStatement(inner.prepare(query), here),
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

/** The bindings, as they are for code in this place. */
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

/** It runs where the entry is that calls it. */
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
