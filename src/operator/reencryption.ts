import { headerContext, identityContext } from "../agents/secrets.ts";
import { secretValues } from "../platform/config.ts";
import {
  decryptSecret,
  encryptSecret,
  keyIdOf,
  SECRET_HEAD_LENGTH,
  stateOfSecret,
  UnreadableSecretError,
} from "../platform/crypto/secrets.ts";
import { boundShards, type Database, shardDb } from "../platform/db/client.ts";
import type { StoredTool } from "../platform/db/columns.ts";
import { listKnownShards } from "../platform/db/shards.ts";
import { KEY_LIFETIME_MS } from "../platform/http/idempotency-store.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
import { erasurePlace } from "../privacy/erase.ts";
import { webhookPlace } from "../webhooks/signature.ts";
import {
  listAgentSecrets,
  listEndpointSecrets,
  listErasureSecrets,
  listKeptResponses,
  listKeySecrets,
  replaceEndpointSecrets,
  replaceErasureSecret,
  replaceIdentitySecrets,
  replaceTools,
} from "./secret-store.ts";

/** An agent may have 200 headers: the texts of so many fit into one batch, and their encryption into one request. */
const AGENTS_A_STEP = 25;
/** One statement each, and a hundred may stand in a batch with ease. */
const SECRETS_A_STEP = 100;
/** Only read, and of each a few characters. */
const READ_A_STEP = 1_000;

/** What is encrypted with ENCRYPTION_KEY. Kept responses are forgotten within a day, and are not encrypted anew. */
export const SECRET_KINDS = ["identity_secrets", "tool_headers", "webhook_secrets", "unfinished_erasures", "kept_responses"] as const;

type SecretKind = (typeof SECRET_KINDS)[number];

/** How many secrets of a kind a step found, by the key that they were made with, and how many of them it made anew. */
interface SecretCounts {
  current: number;
  outdated: number;
  reencrypted: number;
  unreadable: number;
}

/** An API key that is refused once the value of KEY_SECRET that made it is taken out. */
interface OutdatedKey {
  id: string;
  workspaceId: string;
  name: string;
  prefix: string;
  /** To the hour; null where it was not used since. */
  outdatedUseAt: number | null;
}

/** Tables that hold what a secret of the configuration made, in the order in which they are walked through. */
export const WALKED_TABLES = ["agents", "webhook_endpoints", "privacy_erasures", "idempotency_records", "api_keys"] as const;

/** Where a step begins: after a row of a table of a shard. */
export interface WalkPosition {
  shard: number;
  table: (typeof WALKED_TABLES)[number];
  after: string;
}

/** What one step found and did. */
export interface WalkStep {
  secrets: Record<SecretKind, SecretCounts>;
  apiKeys: { current: number; outdated: OutdatedKey[] };
  /** Until when a kept response needs its old key, Unix milliseconds; null where none does. */
  keepUntilMs: number | null;
  /** Null at the end. */
  next: WalkPosition | null;
}

interface Walk extends Omit<WalkStep, "next"> {
  env: Env;
  db: Database;
  nowMs: number;
  /** Whether what is outdated is made anew. */
  renews: boolean;
}

/** One page of a table; undefined when it was the last, else the row that the next one comes after. */
type Page = (walk: Walk, after: string) => Promise<string | undefined>;

/**
 * One bounded step through all that secrets of the configuration made: it counts and, where asked, encrypts anew what an
 * old ENCRYPTION_KEY made. A step may be done again, left out or stopped at any point; a secret that is changed meanwhile
 * stays as it was changed.
 * Its shards are those that are bound, and those that hold workspaces.
 * @returns undefined when the position names no such shard.
 * @throws Fault when its shard holds workspaces and is not bound: their secrets must not be taken for encrypted anew.
 */
export async function walkSecrets(
  { env, meter, nowMs }: { env: Env; meter: Meter; nowMs: number },
  { shard, table, after }: WalkPosition,
  renews: boolean,
): Promise<WalkStep | undefined> {
  const isBound = boundShards(env).includes(shard);
  if (!isBound && !(await listKnownShards(env, meter)).includes(shard)) return undefined;
  const none = { current: 0, outdated: 0, reencrypted: 0, unreadable: 0 };
  const secrets = Object.fromEntries(SECRET_KINDS.map((kind) => [kind, { ...none }])) as WalkStep["secrets"];
  const found = { secrets, apiKeys: { current: 0, outdated: [] }, keepUntilMs: null };
  const walk: Walk = { ...found, env, db: shardDb(env, shard, meter), nowMs, renews };
  const last = await PAGES[table](walk, after);
  const next = last === undefined ? await beginningAfter(env, meter, { shard, table }) : { shard, table, after: last };
  return { secrets, apiKeys: walk.apiKeys, keepUntilMs: walk.keepUntilMs, next };
}

/** The beginning of the next table; null after the last one of the last shard. */
async function beginningAfter(env: Env, meter: Meter, { shard, table }: Omit<WalkPosition, "after">): Promise<WalkPosition | null> {
  const nextTable = WALKED_TABLES[WALKED_TABLES.indexOf(table) + 1];
  if (nextTable) return { shard, table: nextTable, after: "" };
  const nextShard = (await listKnownShards(env, meter)).find((known) => known > shard);
  return nextShard === undefined ? null : { shard: nextShard, table: WALKED_TABLES[0], after: "" };
}

const pageAgents: Page = async (walk, after) => {
  const [rows] = await walk.db.batch([listAgentSecrets(walk.db, after, AGENTS_A_STEP)]);
  const changes = await Promise.all(rows.map(async (row) => [await renewIdentity(walk, row), await renewTools(walk, row)]));
  await write(walk, changes.flat());
  return lastOf(rows, AGENTS_A_STEP)?.id;
};

type AgentSecrets = Awaited<ReturnType<typeof listAgentSecrets>>[number];

async function renewIdentity(walk: Walk, row: AgentSecrets): Promise<Change | undefined> {
  const place = identityContext(row.id);
  const renewal = new Renewal(walk, "identity_secrets");
  const identitySecret = row.identitySecret && (await renewal.of(row.identitySecret, place));
  const previousIdentitySecret = await renewal.ofPrevious(row.previousIdentitySecret, row.previousIdentitySecretUntil, place);
  return renewal.change(() => replaceIdentitySecrets(walk.db, row.id, row, { identitySecret, previousIdentitySecret }));
}

async function renewTools(walk: Walk, row: AgentSecrets): Promise<Change | undefined> {
  const renewal = new Renewal(walk, "tool_headers");
  const tools = JSON.parse(row.tools) as StoredTool[];
  for (const { name, headers } of tools) {
    for (const [header, sealed] of Object.entries(headers)) {
      headers[header] = await renewal.of(sealed, headerContext(row.id, name, header));
    }
  }
  return renewal.change(() => replaceTools(walk.db, row.id, row.tools, JSON.stringify(tools)));
}

const pageEndpoints: Page = async (walk, after) => {
  const [rows] = await walk.db.batch([listEndpointSecrets(walk.db, after, SECRETS_A_STEP)]);
  const changes = rows.map(async (row) => {
    const place = webhookPlace(row.id);
    const renewal = new Renewal(walk, "webhook_secrets");
    const secret = await renewal.of(row.secret, place);
    const previousSecret = await renewal.ofPrevious(row.previousSecret, row.previousSecretUntil, place);
    return renewal.change(() => replaceEndpointSecrets(walk.db, row.id, row, { secret, previousSecret }));
  });
  await write(walk, await Promise.all(changes));
  return lastOf(rows, SECRETS_A_STEP)?.id;
};

const pageErasures: Page = async (walk, after) => {
  const [rows] = await walk.db.batch([listErasureSecrets(walk.db, after, SECRETS_A_STEP)]);
  const changes = rows.map(async ({ id, identifier }) => {
    const renewal = new Renewal(walk, "unfinished_erasures");
    const renewed = await renewal.of(identifier, erasurePlace(id));
    return renewal.change(() => replaceErasureSecret(walk.db, id, identifier, renewed));
  });
  await write(walk, await Promise.all(changes));
  return lastOf(rows, SECRETS_A_STEP)?.id;
};

const pageResponses: Page = async (walk, after) => {
  const [rows] = await walk.db.batch([listKeptResponses(walk.db, Number(after) || 0, SECRET_HEAD_LENGTH, READ_A_STEP)]);
  for (const { createdAt, head } of rows) {
    const untilMs = createdAt + KEY_LIFETIME_MS;
    if (!head || untilMs <= walk.nowMs) continue;
    const state = await stateOfSecret(walk.env, head);
    walk.secrets.kept_responses[state]++;
    if (state === "outdated") walk.keepUntilMs = Math.max(walk.keepUntilMs ?? 0, untilMs);
  }
  return lastOf(rows, READ_A_STEP)?.row.toString();
};

const pageKeys: Page = async (walk, after) => {
  const currentId = await keyIdOf(secretValues(walk.env.KEY_SECRET)[0]);
  const [rows] = await walk.db.batch([listKeySecrets(walk.db, after, READ_A_STEP)]);
  for (const { secretId, revokedAt, ...key } of rows) {
    if (revokedAt !== null) continue;
    if (secretId === currentId) walk.apiKeys.current++;
    else walk.apiKeys.outdated.push(key);
  }
  return lastOf(rows, READ_A_STEP)?.id;
};

const PAGES: Record<WalkPosition["table"], Page> = {
  agents: pageAgents,
  webhook_endpoints: pageEndpoints,
  privacy_erasures: pageErasures,
  idempotency_records: pageResponses,
  api_keys: pageKeys,
};

/** The last row of a page that is full: there may be more after it. */
function lastOf<Row>(rows: readonly Row[], limit: number): Row | undefined {
  return rows.length < limit ? undefined : rows.at(-1);
}

/** A write that puts so many renewed secrets of a kind in place; it returns nothing where they have changed meanwhile. */
interface Change {
  kind: SecretKind;
  count: number;
  statement: ReturnType<typeof replaceTools> | ReturnType<typeof replaceEndpointSecrets> | ReturnType<typeof replaceErasureSecret>;
}

/** The secrets of one kind of one row, counted and made anew. */
class Renewal {
  private renewed = 0;

  constructor(
    private readonly walk: Walk,
    private readonly kind: SecretKind,
  ) {}

  /** The text that is to stand in the secret's place: its own where nothing is to be done, or can be. */
  async of(stored: string, place: string): Promise<string> {
    const { env, renews, secrets } = this.walk;
    const counts = secrets[this.kind];
    const state = await stateOfSecret(env, stored);
    counts[state]++;
    if (state !== "outdated" || !renews) return stored;
    try {
      const text = await encryptSecret(env, await decryptSecret(env, stored, place), place);
      this.renewed++;
      return text;
    } catch (error) {
      if (!(error instanceof UnreadableSecretError)) throw error;
      counts.outdated--;
      counts.unreadable++;
      return stored;
    }
  }

  /** The same of a secret that is valid for a while. One that is past its time is nobody's any more, and left as it is. */
  async ofPrevious(stored: string | null, untilMs: number | null, place: string): Promise<string | null> {
    const isValid = stored !== null && this.walk.nowMs < (untilMs ?? 0);
    return isValid ? this.of(stored, place) : stored;
  }

  change(replace: () => Change["statement"]): Change | undefined {
    return this.renewed === 0 ? undefined : { kind: this.kind, count: this.renewed, statement: replace() };
  }
}

async function write({ db, secrets }: Walk, planned: readonly (Change | undefined)[]): Promise<void> {
  const changes = planned.filter((change) => change !== undefined);
  const [first, ...rest] = changes.map(({ statement }) => statement);
  if (!first) return;
  const results = await db.batch([first, ...rest]);
  for (const [at, { kind, count }] of changes.entries()) {
    if (results[at]!.length === 0) continue;
    secrets[kind].outdated -= count;
    secrets[kind].reencrypted += count;
  }
}
