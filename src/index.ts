import { app } from "./app.ts";
import { receiveMail } from "./email/inbound.ts";
import { isConfigured } from "./platform/config.ts";
import { consume, putBack } from "./queues.ts";
import { sweep, sweepApart } from "./sweep/sweep.ts";

export { WorkspaceGate } from "./workspaces/gate.ts";
export { ChatSession } from "./chat/session.ts";
export { KnowledgeIndex } from "./knowledge/index.ts";
export { LeadIndex } from "./leads/lead-index.ts";
export { ShardSweeper } from "./sweep/sweep.ts";
export { DeliverySender } from "./webhooks/attempt.ts";

export default {
  fetch: app.fetch,
  queue: (batch, env) => (isConfigured(env) ? consume(batch, env) : putBack(batch)),
  email: (message, env) => {
    // What is thrown has the sender's server try again.
    if (!isConfigured(env)) throw new Error("The configuration is wrong: the log names the variable");
    return receiveMail(message, env);
  },
  scheduled: ({ scheduledTime }, env) =>
    isConfigured(env) ? sweep(env, scheduledTime, (shard) => sweepApart(shard, scheduledTime)) : undefined,
} satisfies ExportedHandler<Env>;
