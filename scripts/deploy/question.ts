import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { UserError } from "../shared/cli.ts";
import { call, type Client, createClient, describeAnswer } from "../shared/service.ts";

const TEXT = "The password of the tea house is larkspur. It opens the blue door.";
const QUESTION = "What is the password of the tea house?";
const LIMIT_MS = 90_000;
const PAUSE_MS = 1_000;

interface Source {
  status: string;
  error: { message: string } | null;
}

interface Reply {
  citations: { source_id: string | null }[];
}

/**
 * Adds a text to a workspace of its own, waits until a question is answered from it, and deletes the workspace. This needs the
 * databases, the objects, the queues and the model.
 * @throws UserError if the question is not answered in time, with the reason.
 */
export async function answerFromText(url: string, operatorToken: string, limitMs = LIMIT_MS): Promise<void> {
  const operator = createClient(url, operatorToken);
  const workspace = await call<{ id: string }>(operator, "POST", "/operator/v1/workspaces", {
    name: "Smoke test of a deployment, may be deleted",
    slug: `smoke-test-${randomUUID().slice(0, 8)}`,
    plan: "free",
  });
  const path = `/operator/v1/workspaces/${workspace.id}`;
  try {
    const { key } = await call<{ key: string }>(operator, "POST", `${path}/keys`, { name: "Smoke test", scopes: ["*"] });
    const agent = await call<{ id: string }>(operator, "POST", `${path}/agents`, { name: "Smoke test" });
    await waitForAnswer(createClient(url, key, LIMIT_MS), `/api/v1/agents/${agent.id}`, Date.now() + limitMs);
  } catch (error) {
    // The first failure says what is wrong.
    await call(operator, "DELETE", path).catch(() => undefined);
    throw error;
  }
  await call(operator, "DELETE", path);
}

async function waitForAnswer(client: Client, agent: string, deadlineMs: number): Promise<void> {
  const source = await call<{ id: string }>(client, "POST", `${agent}/sources`, { type: "text", name: "Tea house", text: TEXT });
  for (;;) {
    const problem = await findProblem(client, agent, source.id);
    if (problem === undefined) return;
    if (Date.now() + PAUSE_MS > deadlineMs) throw new UserError(`A question was not answered from a text: ${problem}.`);
    await sleep(PAUSE_MS);
  }
}

/** Returns the reason why the question is not answered from the source yet; undefined once it is. */
async function findProblem(client: Client, agent: string, sourceId: string): Promise<string | undefined> {
  const { status, error } = await call<Source>(client, "GET", `${agent}/sources/${sourceId}`);
  if (status === "failed") throw new UserError(`A text could not be read: ${error?.message ?? "no reason given"}`);
  if (status !== "ready") return `the text is ${status}; the queue does not deliver, or is slow`;
  const reply = await client.send("POST", `${agent}/messages`, { message: QUESTION });
  if (reply.status !== 200) return `the question ${describeAnswer(reply)}`;
  const isAnswered = (reply.body as Reply).citations.some(({ source_id: id }) => id === sourceId);
  return isAnswered ? undefined : "the agent handed it to a human; the log has the cause";
}
