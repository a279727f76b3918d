import { expect, test, vi } from "vitest";
import { createAgent, createNeighbour, createWorkspace, learn, newAddress, send, type Workspace } from "../harness.ts";
import { type Browser, openBrowser } from "./browser.ts";

async function colleague(workspace: Workspace, name: string) {
  const browser = openBrowser();
  await browser.call("POST", "/console/session", { secret: workspace.key, name });
  const live = await browser.live();
  expect(live.status).toBe(101);
  return live;
}

const changed = (kind: string, id: string) => (message: any) =>
  message.changes?.some((change: { kind: string; id: string }) => change.kind === kind && change.id === id);

test("an open page is notified of changed conversations, leads and sources", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const live = await colleague(workspace, "Grace");
  const source = await learn(workspace, agent.id, "# Refunds\n\nRefunds take five days.");
  await live.next(changed("source", source.id));
  const { body } = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "How long do refunds take?" });
  expect(await live.next(changed("conversation", body.conversation_id))).toEqual({
    changes: [{ kind: "conversation", id: body.conversation_id }],
  });
  await workspace.call("PATCH", `/conversations/${body.conversation_id}`, { status: "resolved" });
  await live.next(changed("conversation", body.conversation_id));
  const asking = await send("POST", `/widget/v1/agents/${agent.id}/leads`, {
    headers: newAddress(),
    body: { name: "Ada", email: "ada@example.com" },
  });
  await live.next(({ changes }) => changes?.[0]?.kind === "lead");
  expect(asking.status).toBe(201);
});

test("changes that follow one another are notified together, and none is left out", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const ask = () => workspace.call("POST", `/agents/${agent.id}/messages`, { message: "Hello?" });
  const ids = (await Promise.all([ask(), ask(), ask()])).map(({ body }) => body.conversation_id);
  const live = await colleague(workspace, "Grace");
  for (const content of ["one", "two", "three", "four"]) {
    await Promise.all(ids.map((id) => workspace.call("POST", `/conversations/${id}/notes`, { content })));
  }
  const { body: latest } = await ask();
  const last = await live.next(changed("conversation", latest.conversation_id));
  const messages = [...live.unread, last];
  expect(messages.length).toBeLessThan(12);
  for (const id of ids) expect(messages.some(changed("conversation", id))).toBe(true);
});

test("another workspace's pages are not notified", async () => {
  const workspace = await createWorkspace();
  const neighbour = await createNeighbour(workspace);
  const [agent, other] = await Promise.all([createAgent(workspace), createAgent(neighbour)]);
  const live = await colleague(neighbour, "Mallory");
  await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "Hello?" });
  const { body } = await neighbour.call("POST", `/agents/${other.id}/messages`, { message: "Hello?" });
  const first = await live.next(() => true);
  expect(first.changes[0].id).toBe(body.conversation_id);
});

test("two people on one conversation see each other, and who is writing", async () => {
  const workspace = await createWorkspace();
  const [ada, grace] = await Promise.all([colleague(workspace, "Ada"), colleague(workspace, "Grâce 👋")]);
  ada.send({ conversation_id: "c1", is_replying: false });
  await ada.next(({ presence }) => presence?.viewers.length === 0);
  grace.send({ conversation_id: "c1", is_replying: true });
  const seen = await ada.next(({ presence }) => presence?.viewers.length === 1);
  expect(seen.presence).toMatchObject({ conversation_id: "c1", viewers: [{ name: "Grâce 👋", is_replying: true }] });
  grace.send({ conversation_id: "c2", is_replying: false });
  await ada.next(({ presence }) => presence?.viewers.length === 0);
  grace.send({ conversation_id: "c1", is_replying: false });
  await ada.next(({ presence }) => presence?.viewers.length === 1);
  grace.close();
  await ada.next(({ presence }) => presence?.viewers.length === 0);
});

test("the socket is closed when the session is signed out, and when the key is revoked", async () => {
  const workspace = await createWorkspace();
  const { body: key } = await workspace.call("POST", "/keys", { name: "Guest", scopes: ["conversations:read"] });
  const [staying, leaving, guest] = [openBrowser(), openBrowser(), openBrowser()];
  const open = async (browser: Browser, secret: string) => {
    await browser.call("POST", "/console/session", { secret, name: "Ada" });
    return browser.live();
  };
  const stays = await open(staying, workspace.key);
  const leaves = await open(leaving, workspace.key);
  const revoked = await open(guest, key.key);
  await leaving.call("DELETE", "/console/session");
  expect(await leaves.closed).toBe(1008);
  await workspace.call("DELETE", `/keys/${key.id}`);
  expect(await revoked.closed).toBe(1008);
  stays.send({ conversation_id: "c1", is_replying: false });
  await stays.next(({ presence }) => presence?.viewers.length === 0);
});

test("the socket is closed after ten minutes, so that a key is checked again even if its revocation was missed", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const live = await colleague(workspace, "Ada");
  vi.setSystemTime(Date.now() + 11 * 60_000);
  await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "Hello?" });
  expect([await live.closed, await live.closeReason]).toEqual([1008, "Connect again."]);
});

test("a page is notified only of what its key may read", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const { body: key } = await workspace.call("POST", "/keys", { name: "Editor", scopes: ["knowledge:read"] });
  const [ada, editor] = [await colleague(workspace, "Ada"), await colleague({ ...workspace, key: key.key }, "Eve")];
  const { body } = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "Hello?" });
  await ada.next(changed("conversation", body.conversation_id));
  editor.send({ conversation_id: body.conversation_id, is_replying: true });
  const source = await learn(workspace, agent.id, "# Refunds\n\nRefunds take five days.");
  const first = await editor.next(() => true);
  expect(first).toEqual({ changes: [{ kind: "source", id: source.id }] });
  ada.send({ conversation_id: body.conversation_id, is_replying: false });
  const seen = await ada.next(({ presence }) => presence);
  expect(seen.presence.viewers).toEqual([]);
});

test("a socket that sends anything else is closed", async () => {
  const workspace = await createWorkspace();
  for (const message of ["x".repeat(1_000), { conversation_id: 1, is_replying: true }, {}]) {
    const live = await colleague(workspace, "Mallory");
    live.send(message);
    expect(await live.closed).toBe(1008);
  }
});

test("a socket that sends more messages than a person does is closed, and the others stay", async () => {
  const workspace = await createWorkspace();
  const [ada, mallory] = [await colleague(workspace, "Ada"), await colleague(workspace, "Mallory")];
  const open = async (id: string) => {
    mallory.send({ conversation_id: id, is_replying: false });
    await mallory.next(({ presence }) => presence?.conversation_id === id);
  };
  const type = (count: number) => {
    for (let at = 0; at < count; at++) mallory.send({ conversation_id: "c1", is_replying: at % 2 === 0 });
  };
  type(299);
  await open("c2");
  vi.setSystemTime(Date.now() + 61_000);
  await open("c3");
  type(300);
  expect(await mallory.closed).toBe(1008);
  ada.send({ conversation_id: "c1", is_replying: false });
  await ada.next(({ presence }) => presence?.viewers.length === 0);
});

test("a page is told of twenty others at most", async () => {
  const workspace = await createWorkspace();
  const browser = openBrowser();
  await browser.call("POST", "/console/session", { secret: workspace.key, name: "Ada" });
  const pages = await Promise.all(Array.from({ length: 22 }, () => browser.live()));
  for (const page of pages) page.send({ conversation_id: "c1", is_replying: false });
  const seen = await pages.at(-1)!.next(({ presence }) => presence?.viewers.length > 18);
  expect(seen.presence.viewers).toHaveLength(20);
});
