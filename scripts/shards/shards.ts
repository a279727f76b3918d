import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { Schemas } from "../../client/operator-schema.ts";
import { databaseNumber, readShards } from "../../src/platform/db/shard-map.ts";
import { UserError, withUsage } from "../shared/cli.ts";
import { call, type Client, describeAnswer, type OperatorTarget, resolveOperatorTarget } from "../shared/service.ts";

export const USAGE = `npm run shards -- COMMAND --url https://support.example.com

Shows which database serves which logical shards, and moves shards to another database while the service is in use.
The operator's token is taken from OPERATOR_TOKEN in the environment, or for a service on this machine from .dev.vars.

  status              shows the databases
  move 64-127 DB_1    moves a logical shard, or a range of them; repeat it to continue a move that was interrupted
  cancel DB_1         stops a move to a database: the shards that have not moved stay, and their copies are erased

  --url               where the service is`;

type Options = OperatorTarget &
  ({ command: "status" } | { command: "move"; shards: string; database: string } | { command: "cancel"; database: string });

/**
 * Reads arguments and environment; undefined if help was asked for.
 * @throws UserError that says what is missing.
 */
export function readOptions(args: readonly string[], environment: Record<string, string | undefined>): Options | undefined {
  const options = { url: { type: "string" }, help: { type: "boolean", short: "h", default: false } } as const;
  const { values, positionals } = withUsage(USAGE, () => parseArgs({ args: [...args], options, allowPositionals: true }));
  if (values.help) return undefined;
  const [command, ...rest] = positionals;
  if (command === "status" && rest.length === 0) return { command, ...resolveOperatorTarget(values.url, environment) };
  const [shards = "", database = ""] = command === "cancel" ? ["0", ...rest] : rest;
  const expected = command === "cancel" ? 1 : 2;
  if ((command !== "move" && command !== "cancel") || rest.length !== expected) throw new UserError(USAGE);
  if (!readShards(shards)) throw new UserError(`"${shards}" is not a logical shard or a range of them, such as 64-127.`);
  if (databaseNumber(database) === undefined) throw new UserError(`"${database}" is not the binding of a database, such as DB_1.`);
  const target = resolveOperatorTarget(values.url, environment);
  return command === "move" ? { command, shards, database, ...target } : { command, database, ...target };
}

type Move = Schemas["ShardMove"];
type Database = Schemas["Database"];

const PROGRESS_EVERY_MS = 1_000;
/** The service may be restarted during a move, so failures in a row are tolerated for about five minutes. */
const MAX_FAILURES = 60;
const RETRY_MS = 5_000;

/** Moves shards, and prints the progress. A failed request is repeated, because every part of a move may be repeated. */
export async function moveShards(
  client: Client,
  shards: string,
  database: string,
  say: (line: string) => void,
  retryMs = RETRY_MS,
): Promise<void> {
  const path = `/operator/v1/databases/${database}/shard-move`;
  const started = await repeated(client, "PUT", path, retryMs, { shards });
  say(progressOf(started!));
  let saidAtMs = Date.now();
  for (;;) {
    // There is no move any more if the answer to the last part of it was lost.
    const move = await repeated(client, "POST", path, retryMs);
    if (!move || move.state === "done") break;
    if (Date.now() < saidAtMs + PROGRESS_EVERY_MS) continue;
    say(progressOf(move));
    saidAtMs = Date.now();
  }
  say(`The shards ${shards} are in ${database}.`);
}

async function repeated(client: Client, method: "PUT" | "POST", path: string, retryMs: number, body?: unknown): Promise<Move | undefined> {
  for (let failures = 0; ; failures++) {
    const answer = await client.send(method, path, body).catch((error: unknown) => {
      if (failures === MAX_FAILURES) throw error;
      return undefined;
    });
    if (answer?.status === 200) return answer.body as Move;
    if (answer?.status === 404 && method === "POST") return undefined;
    if (answer && (answer.status < 500 || failures === MAX_FAILURES)) throw new UserError(`${method} ${path} ${describeAnswer(answer)}`);
    await sleep(retryMs);
  }
}

/** Cancels a move, and erases its copies. */
export async function cancelMove(client: Client, database: string, say: (line: string) => void): Promise<void> {
  const path = `/operator/v1/databases/${database}/shard-move`;
  while (!(await call<{ done: boolean }>(client, "DELETE", path)).done) say("Erasing the copies …");
  say(`No shards are being moved to ${database}.`);
}

function progressOf(move: Move): string {
  const { state, pass, shards_moved: moved, shards_total: total, changes_waiting: waiting } = move;
  const changes = waiting > 0 ? `, ${waiting} changes to copy` : "";
  if (state === "copying") return `copying: ${move.rows_written} rows written${changes}`;
  if (state === "comparing") return `comparing (${pass}): ${move.rows_compared} rows compared${changes}`;
  return `switching: ${moved} of ${total} shards moved${changes}`;
}

const BYTES_PER_MB = 1_000_000;

/** The lines of the overview, with the SHARD_MAP that the databases need. */
export async function statusLines(client: Client): Promise<string[]> {
  const { data } = await call<{ data: Database[] }>(client, "GET", "/operator/v1/databases");
  const lines = data.map((database) => {
    const size = `${(database.size_bytes / BYTES_PER_MB).toFixed(0)} MB`;
    const former = database.former_shards === "" ? "" : `; former rows of ${database.former_shards}, erased a day after their move`;
    return `${database.binding}: shards ${database.shards || "none"}, ${database.workspaces} workspaces, ${size}${former}`;
  });
  const moves = data.flatMap(({ move }) => (move ? [`${move.shards} from ${move.from} to ${move.to}, ${progressOf(move)}`] : []));
  const isMapped = data.every(({ shards, mapped_shards: mapped }) => shards === mapped);
  return [
    ...lines,
    ...moves,
    ...(isMapped || moves.length > 0 ? [] : ["", `Write this into wrangler.toml and deploy: SHARD_MAP = "${mapOf(data)}"`]),
  ];
}

function mapOf(databases: readonly Database[]): string {
  const items = databases.flatMap(({ binding, shards }) =>
    shards.split(", ").flatMap((range) => (range === "" ? [] : `${range}=${binding}`)),
  );
  return items.toSorted((a, b) => Number.parseInt(a) - Number.parseInt(b)).join(", ");
}
