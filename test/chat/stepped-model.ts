import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { TurnRunner } from "../../src/chat/turn.ts";
import type { Model } from "../../src/models/model.ts";
import { createAgent, createWorkspace, learn } from "../harness.ts";
import { openStream } from "../stream-client.ts";
import { HANDBOOK } from "./handbook.ts";

/** A model that answers with the chunks that a test pushes. `push` must be called in the context of the session's object. */
export class SteppedModel {
  private readonly queue: (string | Error | null)[] = [];
  private wake: () => void = () => undefined;

  readonly model: Model = {
    answer: async () => ({ outcome: "answered", confidence: 0.9, cited: [], text: this.pieces() }),
  };

  /** Pushes chunks of text, an error, or null for the end. */
  push(...what: (string | Error | null)[]): void {
    this.queue.push(...what);
    this.wake();
  }

  private async *pieces(): AsyncGenerator<string, void> {
    for (;;) {
      const next = this.queue.shift();
      if (next === null) return;
      if (next instanceof Error) throw next;
      if (next !== undefined) yield next;
      else {
        const woken = new AbortController();
        this.wake = () => woken.abort();
        // The runtime takes code that waits without a timer or request for hung.
        await scheduler.wait(60_000, { signal: woken.signal }).catch(() => undefined);
      }
    }
  }
}

/** An agent, a conversation with one answered question, and its session, whose model a test can step. */
export async function createStreamedConversation(settings: Parameters<typeof createWorkspace>[0] = {}) {
  const workspace = await createWorkspace(settings);
  const agent = await createAgent(workspace, { handoff_message: "A colleague takes over." });
  await learn(workspace, agent.id, HANDBOOK);
  const path = `/agents/${agent.id}/messages`;
  const first = await workspace.call("POST", path, { message: "When are refunds paid?" });
  const id: string = first.body.conversation_id;
  const session = () => env.SESSION.getByName(`${workspace.id}/${id}`);
  const resumePath = (messageId: string) => `/api/v1/conversations/${id}/messages/${messageId}/stream`;
  return {
    workspace,
    agent,
    id,
    path,
    session,
    first: first.body as { message_id: string; answer: string } & Record<string, unknown>,
    /** Asks for a stream in the conversation. */
    stream: (body: Record<string, unknown> = {}, headers: Record<string, string> = {}) =>
      openStream("POST", `/api/v1${path}`, {
        token: workspace.key,
        body: { message: "And now?", conversation_id: id, stream: true, ...body },
        headers,
      }),
    ask: (message = "And now?") => workspace.call("POST", path, { message, conversation_id: id }),
    resume: (messageId: string, lastEventId?: string) =>
      openStream("GET", resumePath(messageId), {
        token: workspace.key,
        ...(lastEventId !== undefined && { headers: { "Last-Event-ID": lastEventId } }),
      }),
    resumePath,
    /** Makes the live object answer with a stepped model, and returns the function that pushes chunks. */
    step: async (bindings: Env = env) => {
      const stepped = new SteppedModel();
      await runInDurableObject(session(), (live) => void Object.assign(live, { runner: new TurnRunner(bindings, stepped.model) }));
      return (...what: (string | Error | null)[]) => runInDurableObject(session(), () => stepped.push(...what));
    },
    /** Questions and answers as the transcript has them, without the first pair. */
    transcript: async (): Promise<[string, string][]> => {
      const { messages } = (await workspace.call("GET", `/conversations/${id}`)).body;
      return messages.slice(2).map(({ role, content }: { role: string; content: string }) => [role, content]);
    },
    /** The number of questions in the usage, without the first one. */
    used: async (): Promise<number> => (await workspace.call("GET", "/usage")).body.usage.messages - 1,
  };
}
