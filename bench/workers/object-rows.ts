import service, {
  ChatSession as Session,
  KnowledgeIndex as Index,
  LeadIndex as Leads,
  LiveChannel as Live,
  SignIn as Signing,
  WorkspaceGate as Gate,
} from "../../src/index.ts";

export { DeliverySender, RegionalEntry, RegionalWorker, ShardSweeper } from "../../src/index.ts";

/*
 * The service, with its objects' storage counted: what the platform bills of it no log line says. Only `npm run costs`
 * serves it. A value of the key-value interface is a row, and so is an alarm.
 */

const counted = { read: 0, written: 0 };
const cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];
const patched = new WeakSet();

type Method = (...args: unknown[]) => unknown;

/** Counts each call of these methods, of all objects at once: they share their prototypes. */
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

/** An object's class, which watches the storage of each before it is used. */
function watched(original: new (ctx: DurableObjectState, env: Env) => object) {
  return class extends original {
    constructor(ctx: DurableObjectState, env: Env) {
      watch(ctx.storage);
      super(ctx, env);
    }
  };
}

export const WorkspaceGate = watched(Gate);
export const KnowledgeIndex = watched(Index);
export const ChatSession = watched(Session);
export const LeadIndex = watched(Leads);
export const LiveChannel = watched(Live);
export const SignIn = watched(Signing);

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

export default {
  ...service,
  fetch(request, env, ctx) {
    if (new URL(request.url).pathname === "/object-rows") return Response.json(take());
    return service.fetch(request, env, ctx);
  },
} satisfies ExportedHandler<Env>;
