import { app } from "./app.ts";
import { isConfigured } from "./platform/config.ts";

/*
 * The Worker: its entrance for each kind of event, and the classes of its Durable Objects and entrypoints. HTTP continues in
 * app.ts, queue messages in queues.ts, cron in sweep/sweep.ts. Nothing runs while the configuration has problems.
 */

export { WorkspaceGate } from "./workspaces/gate.ts";
export { ChatSession } from "./chat/session.ts";
export { KnowledgeIndex } from "./knowledge/knowledge-index.ts";
export { AttachmentFiles } from "./attachments/attachment-files.ts";
export { LiveChannel } from "./events/live-channel.ts";
export { SignIn } from "./members/sign-in.ts";
export { ConversationIndex } from "./conversations/conversation-index.ts";
export { LeadIndex } from "./leads/lead-index.ts";
export { Committer } from "./platform/committer.ts";
export { RegionalEntry } from "./platform/http/region.ts";
export { RegionalWorker } from "./regional-worker.ts";
export { DatabaseSweeper } from "./sweep/database-sweeper.ts";
export { FileReader } from "./knowledge/file-reader.ts";
export { DeliverySender } from "./webhooks/delivery-sender.ts";

export default {
  fetch: app.fetch,
  queue: async (batch, env) => {
    const { consume, retryLater } = await import("./queues.ts");
    return isConfigured(env) ? consume(batch, env) : retryLater(batch);
  },
  email: async (message, env) => {
    // An error makes the sender's server try again.
    if (!isConfigured(env)) throw new Error("The configuration is invalid: the log names the variable");
    const { receiveMail } = await import("./email/inbound.ts");
    return receiveMail(message, env);
  },
  scheduled: async ({ scheduledTime }, env) => {
    if (!isConfigured(env)) return;
    const { sweep, sweepInOwnInvocation } = await import("./sweep/sweep.ts");
    return sweep(env, scheduledTime, (database) => sweepInOwnInvocation(database, scheduledTime));
  },
} satisfies ExportedHandler<Env>;
