import { isConfigured } from "./platform/config.ts";
import { lazy } from "./platform/lazy.ts";
import { sweepInOwnInvocation } from "./sweep/shard-sweeper.ts";

/*
 * The Worker: its entrance for each kind of event, and the classes of its Durable Objects and entrypoints. HTTP continues in
 * app.ts, queue messages in queues.ts, cron in sweep/sweep.ts. Nothing runs while the configuration has problems.
 *
 * What is imported here is evaluated whenever an isolate starts, so it is little: what a request or a job needs is loaded by
 * the first one that does. `npm run check:startup` names what was added.
 */

export { WorkspaceGate } from "./workspaces/gate.ts";
export { ChatSession } from "./chat/session.ts";
export { KnowledgeIndex } from "./knowledge/index.ts";
export { LiveChannel } from "./events/live-channel.ts";
export { SignIn } from "./console/sign-in.ts";
export { ConversationIndex } from "./conversations/conversation-index.ts";
export { LeadIndex } from "./leads/lead-index.ts";
export { RegionalEntry, RegionalWorker } from "./regional-entry.ts";
export { ShardSweeper } from "./sweep/shard-sweeper.ts";
export { DeliverySender } from "./webhooks/delivery-sender.ts";

const http = lazy(() => import("./app.ts"));

export default {
  fetch: async (request, env, ctx) => {
    const { app } = await http();
    return app.fetch(request, env, ctx);
  },
  queue: async (batch, env) => {
    const { consume, retryLater } = await import("./queues.ts");
    await (isConfigured(env) ? consume(batch, env) : retryLater(batch));
  },
  email: async (message, env) => {
    // An error makes the sender's server try again.
    if (!isConfigured(env)) throw new Error("The configuration is invalid: the log names the variable");
    const { receiveMail } = await import("./email/inbound.ts");
    await receiveMail(message, env);
  },
  scheduled: async ({ scheduledTime }, env) => {
    if (!isConfigured(env)) return;
    const { sweep } = await import("./sweep/sweep.ts");
    await sweep(env, scheduledTime, (shard) => sweepInOwnInvocation(shard, scheduledTime));
  },
} satisfies ExportedHandler<Env>;
