import { headerContext, identityContext, turnstileContext } from "../agents/secrets.ts";
import { clientSecretContext } from "../members/sign-in-settings.ts";
import { secretValues } from "../platform/config.ts";
import {
  decryptSecret,
  encryptSecret,
  keyIdOf,
  SECRET_HEAD_LENGTH,
  stateOfSecret,
  UnreadableSecretError,
} from "../platform/crypto/secrets.ts";
import { boundDatabases } from "../platform/db/bindings.ts";
import { mappedDatabases } from "../platform/db/shard-map.ts";
import { type Database, wholeDatabase } from "../platform/db/client.ts";
import type { OlderSecret, StoredTool, VersionSettings } from "../platform/db/columns.ts";
import { KEY_LIFETIME_MS } from "../platform/http/idempotency-store.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
import { erasureContext } from "../privacy/erase.ts";
import { webhookContext } from "../webhooks/signature.ts";
import { type Auditor, recordOnDatabase } from "../administration/operator-audit-store.ts";
import { type EncryptedTable, listApiKeys, listSecrets, listStoredResponses, replaceSecrets, type StoredColumns } from "./secret-store.ts";

/** The kinds of secrets that are encrypted with ENCRYPTION_KEY. Stored responses expire within a day and are not reencrypted. */
export const SECRET_KINDS = [
  "identity_secrets",
  "turnstile_secrets",
  "tool_headers",
  "webhook_secrets",
  "sign_in_secrets",
  "unfinished_erasures",
  "kept_responses",
] as const;

type SecretKind = (typeof SECRET_KINDS)[number];

/** How many secrets of a kind a step found, by the key that encrypted them, and how many it reencrypted. */
interface SecretCounts {
  current: number;
  outdated: number;
  reencrypted: number;
  unreadable: number;
}

/** An API key that is refused once the value of KEY_SECRET that signed it is removed. */
interface OutdatedKey {
  id: string;
  workspaceId: string;
  name: string;
  prefix: string;
  /** When the key was last used after KEY_SECRET was replaced, to the hour; null if it was not used since then. */
  outdatedUseAt: number | null;
}

/** The tables with values that depend on ENCRYPTION_KEY or KEY_SECRET, in the order of the scan. */
export const SCANNED_TABLES = [
  "agents",
  "agent_versions",
  "webhook_endpoints",
  "sign_in_settings",
  "privacy_erasures",
  "idempotency_records",
  "api_keys",
] as const;

/** The row of a table of a database after which a step starts. */
export interface ScanPosition {
  database: number;
  table: (typeof SCANNED_TABLES)[number];
  after: string;
}

/** The result of one step. */
export interface ScanStep {
  secrets: Record<SecretKind, SecretCounts>;
  apiKeys: { current: number; outdated: OutdatedKey[] };
  /** The time until which a stored response needs an old key, in Unix milliseconds; null if none needs one. */
  keepUntilMs: number | null;
  /** Null at the end. */
  next: ScanPosition | null;
}

interface Scan extends Omit<ScanStep, "next"> {
  env: Env;
  db: Database;
  nowMs: number;
  /** Who asked for reencryption; undefined if secrets are only counted. */
  reencryptsFor: Auditor | undefined;
}

/**
 * Runs one bounded step through all values that depend on ENCRYPTION_KEY or KEY_SECRET, in all databases that are bound or named by the map. It counts secrets and, if asked, reencrypts outdated ones. Steps may be repeated, skipped or stopped anywhere. A secret
 * that is changed at the same time keeps the change.
 * @returns undefined if the database of the position is neither.
 * @throws Fault if the map names the database but it is not bound, because its secrets would be missed.
 */
export async function scanSecrets(
  env: Env,
  meter: Meter,
  { database, table, after }: ScanPosition,
  reencryptsFor?: Auditor,
): Promise<ScanStep | undefined> {
  if (!knownDatabases(env).includes(database)) return undefined;
  const none = { current: 0, outdated: 0, reencrypted: 0, unreadable: 0 };
  const secrets = Object.fromEntries(SECRET_KINDS.map((kind) => [kind, { ...none }])) as ScanStep["secrets"];
  const found = { secrets, apiKeys: { current: 0, outdated: [] }, keepUntilMs: null };
  const scan: Scan = { ...found, env, db: wholeDatabase(env, database, meter), nowMs: Date.now(), reencryptsFor };
  const last = await scanPage(scan, table, after);
  const next = last === undefined ? startOfNextTable(env, { database, table }) : { database, table, after: last };
  return { secrets, apiKeys: scan.apiKeys, keepUntilMs: scan.keepUntilMs, next };
}

/** Returns the start of the next table, in this database or the next one; null after the last table of the last database. */
function startOfNextTable(env: Env, { database, table }: Omit<ScanPosition, "after">): ScanPosition | null {
  const nextTable = SCANNED_TABLES[SCANNED_TABLES.indexOf(table) + 1];
  if (nextTable) return { database, table: nextTable, after: "" };
  const next = knownDatabases(env).find((known) => known > database);
  return next === undefined ? null : { database: next, table: SCANNED_TABLES[0], after: "" };
}

/** The databases that are bound or named by the map, in order. */
function knownDatabases(env: Env): number[] {
  return [...new Set([...boundDatabases(env), ...mappedDatabases(env)])].toSorted((a, b) => a - b);
}

/** Scans one page of a table. @returns the row that the next page starts after; undefined if this was the last page. */
function scanPage(scan: Scan, table: ScanPosition["table"], after: string): Promise<string | undefined> {
  if (table === "idempotency_records") return scanResponses(scan, Number(after) || 0);
  return table === "api_keys" ? scanApiKeys(scan, after) : scanEncrypted(scan, table, after);
}

/** The page size of stored responses, of which only the first characters are read, and of API keys. */
const READ_PAGE_SIZE = 1_000;

async function scanResponses(scan: Scan, after: number): Promise<string | undefined> {
  const [rows] = await scan.db.batch([listStoredResponses(scan.db, after, SECRET_HEAD_LENGTH, READ_PAGE_SIZE)]);
  for (const { createdAt, head } of rows) {
    const untilMs = createdAt + KEY_LIFETIME_MS;
    if (!head || untilMs <= scan.nowMs) continue;
    const state = await stateOfSecret(scan.env, head);
    scan.secrets.kept_responses[state]++;
    if (state === "outdated") scan.keepUntilMs = Math.max(scan.keepUntilMs ?? 0, untilMs);
  }
  return lastOf(rows, READ_PAGE_SIZE)?.row.toString();
}

async function scanApiKeys(scan: Scan, after: string): Promise<string | undefined> {
  const currentId = await keyIdOf(secretValues(scan.env.KEY_SECRET)[0]);
  const [rows] = await scan.db.batch([listApiKeys(scan.db, after, READ_PAGE_SIZE)]);
  for (const { secretId, revokedAt, ...key } of rows) {
    if (revokedAt !== null) continue;
    if (secretId === currentId) scan.apiKeys.current++;
    else scan.apiKeys.outdated.push(key);
  }
  return lastOf(rows, READ_PAGE_SIZE)?.id;
}

/** Returns the last row of a full page, after which there may be more rows; undefined if the page is not full. */
function lastOf<Row>(rows: readonly Row[], limit: number): Row | undefined {
  return rows.length < limit ? undefined : rows.at(-1);
}

type SecretRow = StoredColumns & { id: string };
type Reencrypt = (secret: string, context: string) => Promise<string>;

/** The secrets of one kind in a row, which are replaced together. */
interface SecretGroup {
  kind: SecretKind;
  /** The row's columns of this kind, with each valid secret passed through `reencrypt`. */
  map: (row: SecretRow, reencrypt: Reencrypt, nowMs: number) => Promise<StoredColumns>;
}

const ENCRYPTED_TABLES: Record<EncryptedTable, { pageSize: number; groups: readonly SecretGroup[] }> = {
  agents: {
    // An agent may have 200 headers: this many agents fit into one batch, and their encryption into one request.
    pageSize: 25,
    groups: [
      { kind: "identity_secrets", map: mapColumns(identityContext, "identitySecret", "previousIdentitySecret") },
      { kind: "turnstile_secrets", map: mapColumns(turnstileContext, "turnstileSecret") },
      { kind: "tool_headers", map: mapTools },
    ],
  },
  agent_versions: { pageSize: 25, groups: [{ kind: "tool_headers", map: mapVersion }] },
  webhook_endpoints: { pageSize: 100, groups: [{ kind: "webhook_secrets", map: mapWebhook }] },
  sign_in_settings: { pageSize: 100, groups: [{ kind: "sign_in_secrets", map: mapColumns(clientSecretContext, "oidcClientSecret") }] },
  privacy_erasures: { pageSize: 100, groups: [{ kind: "unfinished_erasures", map: mapColumns(erasureContext, "identifier") }] },
};

/** Returns the map of a column with a secret and, if there is one, the column with its previous secret. An expired one is not changed. */
function mapColumns(contextOf: (id: string) => string, column: string, previousColumn?: string): SecretGroup["map"] {
  return async (row, reencrypt, nowMs) => {
    const columns: StoredColumns = { [column]: row[column]! };
    if (previousColumn) columns[previousColumn] = row[previousColumn]!;
    for (const [name, secret] of Object.entries(columns)) {
      const isExpired = name === previousColumn && nowMs >= Number(row[`${name}Until`]);
      if (secret !== null && !isExpired) columns[name] = await reencrypt(String(secret), contextOf(row.id));
    }
    return columns;
  };
}

async function mapWebhook(row: SecretRow, reencrypt: Reencrypt, nowMs: number): Promise<StoredColumns> {
  const columns = await mapColumns(webhookContext, "secret", "previousSecret")(row, reencrypt, nowMs);
  const older = JSON.parse(String(row["olderSecrets"])) as OlderSecret[];
  for (const one of older) if (nowMs < one.untilMs) one.secret = await reencrypt(one.secret, webhookContext(row.id));
  return { ...columns, olderSecrets: JSON.stringify(older) };
}

async function mapTools(row: SecretRow, reencrypt: Reencrypt): Promise<StoredColumns> {
  const tools = JSON.parse(String(row["tools"])) as StoredTool[];
  await replaceHeaders(row.id, tools, reencrypt);
  return { tools: JSON.stringify(tools) };
}

async function mapVersion(row: SecretRow, reencrypt: Reencrypt): Promise<StoredColumns> {
  const settings = JSON.parse(String(row["settings"])) as Partial<VersionSettings>;
  await replaceHeaders(String(row["agentId"]), settings.tools ?? [], reencrypt);
  return { settings: JSON.stringify(settings) };
}

async function replaceHeaders(agentId: string, tools: readonly StoredTool[], reencrypt: Reencrypt): Promise<void> {
  for (const { name, headers } of tools.filter((tool) => tool.type !== "client")) {
    for (const [header, secret] of Object.entries(headers)) {
      headers[header] = await reencrypt(secret, headerContext(agentId, name, header));
    }
  }
}

async function scanEncrypted(scan: Scan, table: EncryptedTable, after: string): Promise<string | undefined> {
  const { db, nowMs, reencryptsFor, secrets } = scan;
  const { pageSize, groups } = ENCRYPTED_TABLES[table];
  const [rows] = await db.batch([listSecrets(db, table, after, pageSize)]);
  const planned = await Promise.all(rows.flatMap((row) => groups.map((group) => planReplacement(scan, table, row as SecretRow, group))));
  const replacements = planned.filter(({ count }) => count > 0);
  if (replacements.length === 0 || !reencryptsFor) return lastOf(rows, pageSize)?.id;
  const record = recordOnDatabase(db, reencryptsFor, nowMs);
  const [, ...results] = await db.batch([record, ...replacements.map(({ statement }) => statement)]);
  for (const [at, { kind, count }] of replacements.entries()) {
    if (results[at]!.length === 0) continue;
    secrets[kind].outdated -= count;
    secrets[kind].reencrypted += count;
  }
  return lastOf(rows, pageSize)?.id;
}

/** Counts the secrets of a group and reencrypts them. The statement replaces them unless they have changed by then. */
async function planReplacement(scan: Scan, table: EncryptedTable, row: SecretRow, { kind, map }: SecretGroup) {
  let count = 0;
  const reencrypt = async (secret: string, context: string) => {
    const reencrypted = await reencryptOutdated(scan, kind, secret, context);
    if (reencrypted !== secret) count++;
    return reencrypted;
  };
  const after = await map(row, reencrypt, scan.nowMs);
  const before = Object.fromEntries(Object.keys(after).map((column) => [column, row[column]!]));
  return { kind, count, statement: replaceSecrets(scan.db, table, row.id, before, after) };
}

/** Counts a secret. @returns the reencrypted secret if it is outdated and readable; otherwise the stored secret. */
async function reencryptOutdated(
  { env, reencryptsFor, secrets }: Scan,
  kind: SecretKind,
  stored: string,
  context: string,
): Promise<string> {
  const counts = secrets[kind];
  const state = await stateOfSecret(env, stored);
  counts[state]++;
  if (state !== "outdated" || !reencryptsFor) return stored;
  try {
    return await encryptSecret(env, await decryptSecret(env, stored, context), context);
  } catch (error) {
    if (!(error instanceof UnreadableSecretError)) throw error;
    counts.outdated--;
    counts.unreadable++;
    return stored;
  }
}
