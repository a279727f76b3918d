import { createRoute, z } from "@hono/zod-openapi";
import { recordOnDatabase } from "../administration/operator-audit-store.ts";
import { directoryDb } from "../platform/db/client.ts";
import { databaseNumber, readShards } from "../platform/db/shard-map.ts";
import type { AppContext } from "../platform/http/context.ts";
import { ApiError } from "../platform/http/errors.ts";
import { timestamp, toTimestamp } from "../platform/http/fields.ts";
import { jsonBody } from "../platform/http/body.ts";
import { errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createStrictRouter } from "../platform/http/router.ts";
import { auditorOf } from "../operator/auth.ts";
import { MoveError } from "./copying.ts";
import { listDatabases } from "./databases.ts";
import { cancelMove, continueMove, describeMove, type MoveStatus, startMove } from "./moves.ts";

const moveSchema = z
  .object({
    shards: z.string().meta({ description: "The logical shards that move, such as `64-127`.", example: "64-127" }),
    from: z.string().meta({ description: "The binding of the database that they leave.", example: "DB" }),
    to: z.string().meta({ description: "The binding of the database that they move to.", example: "DB_1" }),
    state: z.enum(["copying", "comparing", "switching", "done"]).meta({
      description:
        "`copying` writes the rows; `comparing` checks them; `switching` lets one shard after the other be served by the new database.",
    }),
    pass: z.int().meta({ description: "The number of the comparison of both copies. The first one copies the rows." }),
    rows_compared: z.int().meta({ description: "The rows that this comparison has read." }),
    rows_written: z.int().meta({ description: "The rows that comparisons wrote into the new database." }),
    changes_waiting: z.int().meta({ description: "The rows that changed meanwhile, and are to be copied again." }),
    shards_moved: z.int().meta({ description: "The shards that the new database serves." }),
    shards_total: z.int().meta({ description: "The shards of the move." }),
    started_at: timestamp().meta({ description: "When the move was started." }),
  })
  .openapi("ShardMove");

const databaseSchema = z
  .object({
    binding: z.string().meta({ description: "The binding of the database.", example: "DB_1" }),
    shards: z.string().meta({ description: "The logical shards that it serves, such as `0-63, 128-255`." }),
    mapped_shards: z.string().meta({
      description: "The logical shards that SHARD_MAP assigns to it. Where it differs from `shards`, change SHARD_MAP.",
    }),
    workspaces: z.int().meta({ description: "The workspaces in these shards." }),
    size_bytes: z.int().meta({ description: "The size of the database. D1 allows 10 GB." }),
    former_shards: z.string().meta({ description: "Shards that have left, and whose former rows are not erased yet." }),
    move: z.union([moveSchema, z.null()]).meta({ description: "The move of shards into the database; null if there is none." }),
  })
  .openapi("Database");

function toMove({ rowsCompared, rowsWritten, changesWaiting, shardsMoved, shardsTotal, startedAtMs, ...rest }: MoveStatus) {
  return {
    ...rest,
    rows_compared: rowsCompared,
    rows_written: rowsWritten,
    changes_waiting: changesWaiting,
    shards_moved: shardsMoved,
    shards_total: shardsTotal,
    started_at: toTimestamp(startedAtMs),
  };
}

const bindingParam = z.object({
  binding: z
    .string()
    .refine((text) => databaseNumber(text) !== undefined, "is not the binding of a database, such as DB or DB_1")
    .meta({ description: "The binding of the database that the shards move to.", example: "DB_1" }),
});

const startSchema = z
  .object({
    shards: z
      .string()
      .max(20)
      .refine((text) => readShards(text) !== undefined, "is not a logical shard or a range of them, such as 64-127")
      .meta({ description: "A logical shard, or a range of them." }),
  })
  .openapi("ShardMoveStart", { example: { shards: "64-127" } });

export const shardMoveRoutes = createStrictRouter("Databases");

const list = createRoute({
  operationId: "listDatabases",
  method: "get",
  path: "/databases",
  summary: "List the databases with their logical shards",
  responses: {
    200: jsonResponse(z.object({ data: z.array(databaseSchema) }).openapi("DatabaseList"), "All databases that are bound."),
    ...errorResponses(),
  },
});

shardMoveRoutes.openapi(list, async (c) => {
  const databases = await listDatabases(c.env, c.get("meter"));
  const data = databases.map(({ mappedShards, sizeBytes, formerShards, move, ...rest }) => {
    return { ...rest, mapped_shards: mappedShards, size_bytes: sizeBytes, former_shards: formerShards, move: move ? toMove(move) : null };
  });
  return c.json({ data }, 200);
});

const start = createRoute({
  operationId: "startShardMove",
  method: "put",
  path: "/databases/{binding}/shard-move",
  summary: "Start to move logical shards to a database",
  description: "Repeating it with the same shards changes nothing. `POST` does the work, about a second of it with each call.",
  request: {
    params: bindingParam,
    body: jsonBody(startSchema),
  },
  responses: { 200: jsonResponse(moveSchema, "The move."), ...errorResponses(409, 422) },
});

shardMoveRoutes.openapi(start, async (c) => {
  const target = databaseNumber(c.req.valid("param").binding)!;
  await refusing(() => startMove(c.env, c.req.valid("json").shards, target, Date.now()));
  await audit(c, start);
  return c.json(toMove((await describeMove(c.env, target))!), 200);
});

const proceed = createRoute({
  operationId: "continueShardMove",
  method: "post",
  path: "/databases/{binding}/shard-move",
  summary: "Do the next part of a move of logical shards",
  description: "It may be interrupted and repeated at any time. Call it until `state` is `done`.",
  request: { params: bindingParam },
  responses: { 200: jsonResponse(moveSchema, "The move after this part."), ...errorResponses(404, 409, 422) },
});

shardMoveRoutes.openapi(proceed, async (c) => {
  const target = databaseNumber(c.req.valid("param").binding)!;
  const move = await refusing(() => continueMove(c.env, target));
  if (!move) throw noMove();
  return c.json(toMove(move), 200);
});

const cancel = createRoute({
  operationId: "cancelShardMove",
  method: "delete",
  path: "/databases/{binding}/shard-move",
  summary: "Cancel a move of logical shards",
  description: "Shards that the new database serves stay there; move them back as any others. Call it until `done` is true.",
  request: { params: bindingParam },
  responses: {
    200: jsonResponse(
      z
        .object({ done: z.boolean().meta({ description: "Whether the copies of the other shards are erased." }) })
        .openapi("ShardMoveCancelled"),
      "The move is cancelled.",
    ),
    ...errorResponses(404, 409, 422),
  },
});

shardMoveRoutes.openapi(cancel, async (c) => {
  const target = databaseNumber(c.req.valid("param").binding)!;
  const done = await refusing(() => cancelMove(c.env, c.get("meter"), target, Date.now()));
  if (done === undefined) throw noMove();
  await audit(c, cancel);
  return c.json({ done }, 200);
});

/** Responds with the reason why a move is not possible. */
async function refusing<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof MoveError) throw new ApiError("conflict", error.message);
    throw error;
  }
}

function noMove(): ApiError {
  return new ApiError("not_found", "No shards are being moved to this database. Start a move first.");
}

async function audit(c: AppContext, route: { operationId: string }): Promise<void> {
  const directory = directoryDb(c.env, c.get("meter"));
  await directory.batch([recordOnDatabase(directory, auditorOf(c, route), Date.now())]);
}
