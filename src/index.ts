import { app } from "./app.ts";
import { consume } from "./queues.ts";
import { receiveMail } from "./email/inbound.ts";
import { sweep } from "./schedule.ts";
import { sweepApart } from "./shard-sweeper.ts";

export { WorkspaceGate } from "./admission/gate.ts";
export { ChatSession } from "./chat/session.ts";
export { KnowledgeIndex } from "./knowledge/index.ts";
export { LeadIndex } from "./leads/index.ts";
export { ShardSweeper } from "./shard-sweeper.ts";
export { DeliveryCourier } from "./webhooks/courier.ts";

export default {
  fetch: app.fetch,
  queue: consume,
  email: (message, env) => receiveMail(message, env),
  scheduled: ({ scheduledTime }, env) => sweep(env, scheduledTime, (shard) => sweepApart(shard, scheduledTime)),
} satisfies ExportedHandler<Env>;
