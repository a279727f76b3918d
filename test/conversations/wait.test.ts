import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { costOf, createAgent, createWorkspace } from "../harness.ts";

// Less than the time that the requests wait: a test whose request is not answered at once fails.
vi.setConfig({ testTimeout: 20_000 });

/** A conversation, and requests that wait for the message after its last one. */
async function createFixture() {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const ask = async (conversation?: string) =>
    (await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "Hello", conversation_id: conversation })).body;
  const { conversation_id: id, message_id: last } = await ask();
  const path = `/conversations/${id}`;
  const reply = (content = "This is Grace.", more = {}) => workspace.call("POST", `${path}/messages`, { content, ...more });
  const wait = (seconds = 25) => workspace.call("GET", `${path}/messages?after=${last}&wait=${seconds}`);
  /** Resolves once so many requests wait. */
  const waiting = (count: number) => {
    const session = env.SESSION.getByName(`${workspace.id}/${id}`);
    const read = () => runInDurableObject(session, (_, state) => state.getWebSockets().length);
    return vi.waitUntil(async () => (await read()) === count, { timeout: 10_000 });
  };
  return { workspace, id, path, reply, wait, waiting, again: () => ask(id) };
}

const contentsOf = ({ body }: { body: any }) => body.data.map(({ content }: { content: string }) => content);

test("a request that waits is answered with the reply of a human as soon as it is stored, and sleeps meanwhile", async () => {
  const { reply, wait, waiting } = await createFixture();
  let answered: any;
  const spent = await costOf(async () => {
    const waits = wait();
    await waiting(1);
    await reply();
    answered = await waits;
  });
  expect(contentsOf(answered)).toEqual(["This is Grace."]);
  expect(answered).toMatchObject({ status: 200, body: { data: [{ role: "human" }], has_more: false } });
  await waiting(0);
  // The three reads of the request that waits, and the trips of the reply.
  expect(spent.d1_trips).toBeLessThanOrEqual(5);
});

test("a message that is there already is answered at once, without the conversation's object", async () => {
  const { reply, wait } = await createFixture();
  await reply();
  const spent = await costOf(async () => {
    expect(contentsOf(await wait())).toEqual(["This is Grace."]);
  });
  expect([spent.object_hops, spent.d1_trips]).toEqual([1, 1]);
});

test("the agent's answer to another request ends the wait too", async () => {
  const { again, wait, waiting } = await createFixture();
  const waits = wait();
  await waiting(1);
  const { answer } = await again();
  expect(contentsOf(await waits)).toEqual(["Hello", answer]);
});

test("a wait ends without a message when its time is over, and when the conversation is resolved", async () => {
  const { workspace, path, wait, waiting } = await createFixture();
  expect(await wait(1)).toMatchObject({ status: 200, body: { data: [], has_more: false, next_cursor: null } });
  await waiting(0);
  const waits = wait();
  await waiting(1);
  await workspace.call("PATCH", path, { status: "resolved" });
  expect(await waits).toMatchObject({ status: 200, body: { data: [] } });
});

test("eight requests may wait for a conversation, and a ninth is told to come later", async () => {
  const { reply, wait, waiting } = await createFixture();
  const waits = Array.from({ length: 8 }, () => wait());
  await waiting(8);
  const refused = await wait();
  expect([refused.status, refused.body.error.code, refused.headers.get("Retry-After")]).toEqual([429, "rate_limited", "5"]);
  await reply();
  for (const each of await Promise.all(waits)) expect(contentsOf(each)).toEqual(["This is Grace."]);
  await waiting(0);
});

test("a request does not wait for a conversation of another workspace", async () => {
  const { workspace } = await createFixture();
  const theirs = await createFixture();
  const { status } = await workspace.call("GET", `${theirs.path}/messages?after=${theirs.id}&wait=25`);
  expect(status).toBe(404);
});
