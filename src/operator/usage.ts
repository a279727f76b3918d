import { shardDb } from "../platform/db/client.ts";
import { shardOf } from "../platform/db/ids.ts";
import type { workspaces } from "../platform/db/schema.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
import { toMegabytes } from "../workspaces/plans.ts";
import { ALL_SENDERS, startOfDay, type DailyFlow } from "../workspaces/visitor-limits.ts";
import { listUsage } from "./store.ts";

type WorkspaceRow = typeof workspaces.$inferSelect;

/** What workspaces have used: questions of a billing period, and the current numbers of everything else. It takes one round trip to each shard. */
export async function usageOf(env: Env, meter: Meter, rows: WorkspaceRow[], period: string, nowMs: number) {
  const byShard = [...Map.groupBy(rows, ({ id }) => shardOf(id))];
  const pages = await Promise.all(
    byShard.map(([shard, group]) => {
      const db = shardDb(env, shard, meter);
      const ids = group.map(({ id }) => id);
      return db.batch(listUsage(db, ids, period, { sender: ALL_SENDERS, startMs: startOfDay(nowMs) }));
    }),
  );
  const [questions, ofAgents] = [pages.flatMap(([own]) => own), pages.flatMap(([, own]) => own)];
  const [keys, sent] = [pages.flatMap(([, , own]) => own), pages.flatMap(([, , , own]) => own)];
  return rows.map((workspace) => {
    const isOwn = ({ workspaceId }: { workspaceId: string }) => workspaceId === workspace.id;
    const sentToday = (wanted: DailyFlow) => sent.find((row) => isOwn(row) && row.flow === wanted)?.count ?? 0;
    const usage = {
      messages: questions.find(isOwn)?.messages ?? 0,
      visitor_messages_today: sentToday("messages"),
      leads_today: sentToday("leads"),
      team_messages_today: sentToday("team_messages"),
      evaluation_cases_today: sentToday("evaluation_cases"),
      agents: workspace.agentsCount,
      sources: workspace.sourcesCount,
      pages: workspace.pagesCount,
      answers: ofAgents.find(isOwn)?.answers ?? 0,
      knowledge_mb_per_agent: toMegabytes(ofAgents.find(isOwn)?.mostTextBytes ?? 0),
      api_keys: keys.find(isOwn)?.keys ?? 0,
    };
    return { workspace, usage };
  });
}
