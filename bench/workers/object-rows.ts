import service, { KnowledgeIndex as Index, WorkspaceGate as Gate } from "../../src/index.ts";

export * from "../../src/index.ts";

/*
 * The service, with its objects' storage counted: what the platform bills of it no log line says. Only `npm run costs`
 * serves it. A value of the key-value interface is a row, and so is an alarm.
 */

const counted = { read: 0, written: 0 };
const cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];
const patched = new WeakSet();

type Method = (...args: unknown[]) => unknown;

/** Counts each call of these methods. */
function count(target: object, kind: keyof typeof counted, names: string[]): void {
  const prototype = Object.getPrototypeOf(target) as Record<string, Method>;
  for (const name of names) {
    const original = prototype[name];
    if (!original) continue;
    prototype[name] = function (this: unknown, ...args) {
      counted[kind]++;
      return original.apply(this, args);
    };
  }
}

function watch(storage: DurableObjectStorage): void {
  const prototype = Object.getPrototypeOf(storage.sql) as SqlStorage;
  if (patched.has(prototype)) return;
  patched.add(prototype);
  // oxlint-disable-next-line typescript/unbound-method -- it is called with its own object below
  const exec = prototype.exec as Method;
  prototype.exec = function (this: SqlStorage, ...args: unknown[]) {
    const cursor = exec.apply(this, args) as (typeof cursors)[number];
    cursors.push(cursor);
    return cursor;
  } as SqlStorage["exec"];
  count(storage.kv, "written", ["put", "delete"]);
  count(storage.kv, "read", ["get", "list"]);
  count(storage, "written", ["put", "delete", "setAlarm", "deleteAlarm"]);
  count(storage, "read", ["get", "list"]);
}

/** Each request meets a gate first, and what is watched in one object's storage is watched in all: they share their prototypes. */
export class WorkspaceGate extends Gate {
  constructor(ctx: DurableObjectState, env: Env) {
    watch(ctx.storage);
    super(ctx, env);
  }
}

/** The index of an agent, which reports the size of its storage. */
export class KnowledgeIndex extends Index {
  storedBytes(): number {
    return this.ctx.storage.sql.databaseSize;
  }
}

/** What was counted since it was last asked for. */
function take(): typeof counted {
  const rows = { ...counted };
  for (const cursor of cursors.splice(0)) {
    rows.read += cursor.rowsRead;
    rows.written += cursor.rowsWritten;
  }
  counted.read = counted.written = 0;
  return rows;
}

async function indexBytes(env: Env, name: string): Promise<Response> {
  const index = env.INDEX.getByName(name) as unknown as { storedBytes(): Promise<number> };
  return Response.json({ bytes: await index.storedBytes() });
}

export default {
  ...service,
  fetch(request, env, ctx) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/object-rows") return Response.json(take());
    if (pathname === "/index-bytes") return indexBytes(env, searchParams.get("index")!);
    return service.fetch(request, env, ctx);
  },
} satisfies ExportedHandler<Env>;
