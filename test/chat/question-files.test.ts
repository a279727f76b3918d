import { expect, test } from "vitest";
import { TurnRunner } from "../../src/chat/turn.ts";
import { modelFor } from "../../src/grounded/engine.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { LIMITS } from "../grounded/converse.ts";
import { createAgent, createWorkspace, envWith, fileForm, learn, PNG } from "../harness.ts";
import { OpenAiStandIn } from "../stand-ins/openai.ts";
import { HANDBOOK, KNOWN } from "./handbook.ts";
import { questionOf } from "./question.ts";

/** The last message that a model reads for a question with an image and a text. */
async function lastMessage(seesImages: string): Promise<unknown> {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  await learn(workspace, agent.id, HANDBOOK);
  const standIn = new OpenAiStandIn(() => ({ text: ["@sources p1\n", "Refunds are paid within five working days."] }));
  const server = { OPENAI_BASE_URL: "http://stand-in.test/v1", OPENAI_MODEL: "answer", OPENAI_MODEL_SEES_IMAGES: seesImages };
  const env = envWith(server);
  const upload = async (content: string | Uint8Array<ArrayBuffer>, name: string): Promise<string> =>
    (await workspace.call("POST", "/attachments", fileForm(content, {}, name))).body.id;
  const ids = [await upload(PNG, "screen.png"), await upload("A text", "log.txt")];
  const runner = new TurnRunner(env, modelFor(env, { fetch: standIn.fetch, limits: LIMITS }));
  const question = questionOf(workspace.id, agent.id, { message: KNOWN.message, files: { ids, owners: ["api"] } });
  const result = await runner.run(question, new Meter());
  expect(result.outcome).toBe("answered");
  return standIn.requests[0]!.messages.at(-1)!.content;
}

test("a model that sees images gets them beside the text, and is told of the other files", async () => {
  const content = (await lastMessage("true")) as { type: string; text?: string; image_url?: { url: string } }[];
  expect(content.map(({ type }) => type)).toEqual(["text", "image_url"]);
  expect(content[1]!.image_url!.url).toBe(`data:image/png;base64,${PNG.toBase64()}`);
  expect(content[0]!.text).toContain("screen.png (image/png)\nlog.txt (text/plain, not shown to you)");
});

test("a model that sees no images is told of all files", async () => {
  const content = (await lastMessage("false")) as string;
  expect(content).toContain("screen.png (image/png, not shown to you)\nlog.txt (text/plain, not shown to you)");
});

test("a message of files alone is handed to a human if the model sees none of them, and is no gap of the knowledge", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  await learn(workspace, agent.id, HANDBOOK);
  const { id } = (await workspace.call("POST", "/attachments", fileForm(PNG, {}, "image.png"))).body;
  const ask = (body: object) => workspace.call("POST", `/agents/${agent.id}/messages`, body);
  const first = await ask({ message: KNOWN.message });
  const { body } = await ask({ message: "image.png", attachments: [id], conversation_id: first.body.conversation_id });
  expect(body).toMatchObject({ needs_human: true, handoff_reason: "missing_knowledge", citations: [] });
  expect((await workspace.call("GET", `/agents/${agent.id}/gaps`)).body.data).toEqual([]);
  // The agent still answers the next question.
  const next = await ask({ message: KNOWN.message, conversation_id: first.body.conversation_id });
  expect(next.body.needs_human).toBe(false);
});
