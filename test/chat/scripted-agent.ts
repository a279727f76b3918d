import { env } from "cloudflare:workers";
import { createAgent, createWorkspace, type Workspace } from "../harness.ts";
import { behaveAt, newHost, receivedBy } from "../outbound.ts";
import { type ChatRequest, eventsOf, type Script } from "../stand-ins/openai.ts";

/** An agent in a session of its own, whose model server answers one request after the other as the scripts say. */
export async function createScriptedAgent(
  settings: Record<string, unknown>,
  scripts: readonly [Script, ...Script[]],
  workspace?: Workspace,
) {
  const model = newHost();
  Reflect.set(env, "OPENAI_BASE_URL", `http://${model}/v1`);
  Reflect.set(env, "OPENAI_MODEL", "answer");
  const [first, ...others] = scripts.map((script) => {
    return { headers: { "Content-Type": "text/event-stream" }, body: [...eventsOf("answer", script)].join("") };
  });
  await behaveAt(model, first!, ...others);
  const own = workspace ?? (await createWorkspace());
  const agent = await createAgent(own, { handoff_message: "A colleague takes over.", ...settings });
  return {
    workspace: own,
    agent,
    ask: (body: Record<string, unknown> = {}) =>
      own.call("POST", `/agents/${agent.id}/messages`, { message: "Please cancel A1.", ...body }),
    /** Sends the results of the tools that an answer waits for. */
    sendResults: (
      { conversation_id: id, message_id: messageId }: { conversation_id: string; message_id: string },
      results: Record<string, unknown>[],
      more: Record<string, unknown> = {},
    ) => own.call("POST", `/conversations/${id}/messages/${messageId}/tool-results`, { results, ...more }),
    /** The requests that the model server received. */
    requests: async () => (await receivedBy(model)).map(({ body }) => JSON.parse(new TextDecoder().decode(body)) as ChatRequest),
    session: (conversationId: string) => env.SESSION.getByName(`${own.id}/${conversationId}`),
  };
}
