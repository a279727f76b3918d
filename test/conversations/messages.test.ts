import { expect, test } from "vitest";
import { newId, seededId, shardOf } from "../../src/platform/db/ids.ts";
import { createAgent, createNeighbour, createWorkspace, query, type Workspace } from "../harness.ts";

/** A conversation with so many messages, "1" to "n". Several share each moment, and their identifiers are in no order. */
async function createTranscript(length: number, workspace?: Workspace) {
  const own = workspace ?? (await createWorkspace());
  const agent = await createAgent(own);
  const asked = await own.call("POST", `/agents/${agent.id}/messages`, { message: "Hello" });
  const id: string = asked.body.conversation_id;
  await query(id, "DELETE FROM messages WHERE conversation_id = ?", id);
  const random = () => crypto.getRandomValues(new Uint8Array(16));
  const ids = Array.from({ length }, (_, at) => seededId(shardOf(id), at < length / 2 ? 2_000 : 1_000, random()));
  const rows = ids.map((messageId, at) => ({ id: messageId, atMs: 1_000 + Math.floor(at / 3) }));
  // Messages of the same time are ordered by their ids.
  rows.sort((a, b) => a.atMs - b.atMs || (a.id < b.id ? -1 : 1));
  await query(
    id,
    `INSERT INTO messages (id, workspace_id, conversation_id, role, author_type, content, created_at)
       SELECT json_extract(value, '$.id'), ?, ?, 'human', 'member', key + 1, json_extract(value, '$.atMs') FROM json_each(?)`,
    own.id,
    id,
    JSON.stringify(rows),
  );
  await query(id, "UPDATE conversations SET message_count = ? WHERE id = ?", length, id);
  return { workspace: own, id, path: `/conversations/${id}` };
}

const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => String(from + at));
const contentsOf = (messages: { content: string }[]) => messages.map(({ content }) => content);

test("a conversation carries its latest 100 messages, oldest first, and says whether there are more", async () => {
  for (const [length, hasMore] of [
    [99, false],
    [100, false],
    [250, true],
  ] as const) {
    const { workspace, path } = await createTranscript(length);
    const { body } = await workspace.call("GET", path);
    expect(contentsOf(body.messages)).toEqual(numbers(Math.max(1, length - 99), length));
    expect([body.has_more_messages, body.message_count]).toEqual([hasMore, length]);
  }
});

test("the pages of a transcript are all of it, the latest first, each oldest first", async () => {
  const { workspace, path } = await createTranscript(250);
  let contents: string[] = [];
  const lengths: number[] = [];
  for (let cursor = ""; ;) {
    const { status, body } = await workspace.call("GET", `${path}/messages?limit=70${cursor}`);
    expect([status, body.total, body.limit]).toEqual([200, 250, 70]);
    contents = [...contentsOf(body.data), ...contents];
    lengths.push(body.data.length);
    expect(body.has_more).toBe(body.next_cursor !== null);
    if (!body.has_more) break;
    cursor = `&cursor=${body.next_cursor}`;
  }
  expect(contents).toEqual(numbers(1, 250));
  expect(lengths).toEqual([70, 70, 70, 40]);
});

test("a message that comes between two pages moves none of them", async () => {
  const { workspace, path } = await createTranscript(30);
  const first = (await workspace.call("GET", `${path}/messages`)).body;
  expect(contentsOf(first.data)).toEqual(numbers(11, 30));
  await workspace.call("POST", `${path}/messages`, { content: "New" });
  const second = (await workspace.call("GET", `${path}/messages?cursor=${first.next_cursor}`)).body;
  expect(contentsOf(second.data)).toEqual(numbers(1, 10));
});

test.for(["limit=0", "limit=101", "cursor=", "cursor=abc", "cursor=WzEsMl0", "cursor=WyJ4IiwieSJd"])(
  "a page of messages with %s is 422",
  async (parameters) => {
    const { workspace, path } = await createTranscript(1);
    const { status, body } = await workspace.call("GET", `${path}/messages?${parameters}`);
    expect([status, body.detail.length, body.detail[0].loc]).toEqual([422, 1, ["query", parameters.split("=")[0]]]);
  },
);

test("the messages of another workspace's conversation are 404, and its cursor leads nowhere else", async () => {
  const mine = await createTranscript(30);
  const theirs = await createTranscript(30, await createNeighbour(mine.workspace));
  expect((await mine.workspace.call("GET", `${theirs.path}/messages`)).status).toBe(404);
  expect((await mine.workspace.call("GET", `/conversations/${newId(shardOf(mine.id), Date.now())}/messages`)).status).toBe(404);
  const { next_cursor: cursor } = (await theirs.workspace.call("GET", `${theirs.path}/messages`)).body;
  const { body } = await mine.workspace.call("GET", `${mine.path}/messages?cursor=${cursor}`);
  expect(body.data.every(({ conversation_id: id }: { conversation_id: string }) => id === mine.id)).toBe(true);
});

test("a reply comes after all that is stored, whatever the clocks say", async () => {
  const { workspace, id, path } = await createTranscript(3);
  const later = Date.now() + 60_000;
  await query(id, "UPDATE messages SET created_at = ? WHERE conversation_id = ?", later, id);
  await query(id, "UPDATE conversations SET last_message_at = ? WHERE id = ?", later, id);
  const { body } = await workspace.call("POST", `${path}/messages`, { content: "Last" });
  expect(Date.parse(body.created_at)).toBe(later + 1);
  expect((await workspace.call("GET", path)).body.messages.at(-1).content).toBe("Last");
});

test("the messages after one are listed oldest first, page by page, with the team's notes", async () => {
  const { workspace, path } = await createTranscript(30);
  const all = (await workspace.call("GET", `${path}/messages?limit=100`)).body.data;
  await workspace.call("POST", `${path}/notes`, { content: "A difficult one." });
  const first = `${path}/messages?limit=10&after=${all[4].id}`;
  const continuations = [
    ({ next_cursor }: any) => `${first}&cursor=${next_cursor}`,
    ({ data }: any) => `${path}/messages?after=${data.at(-1).id}`,
  ];
  for (const continued of continuations) {
    const contents: string[] = [];
    for (let next: string | undefined = first; next;) {
      const { status, body }: any = await workspace.call("GET", next);
      expect([status, body.total, body.has_more]).toEqual([200, 31, body.next_cursor !== null]);
      contents.push(...contentsOf(body.data));
      next = body.has_more ? continued(body) : undefined;
    }
    expect(contents).toEqual([...numbers(6, 30), "A difficult one."]);
  }
  const note = (await workspace.call("GET", `${path}/messages?limit=1`)).body.data[0];
  expect((await workspace.call("GET", `${path}/messages?after=${note.id}`)).body).toMatchObject({ data: [], has_more: false });
});

test("the messages after one that was erased are those after the time in its id", async () => {
  const { workspace, path } = await createTranscript(3);
  const erased = (at: number) => seededId(0, at, new Uint8Array(16));
  expect(contentsOf((await workspace.call("GET", `${path}/messages?after=${erased(999)}`)).body.data)).toEqual(numbers(1, 3));
  expect((await workspace.call("GET", `${path}/messages?after=${erased(1_001)}`)).body.data).toEqual([]);
});

test.for([
  ["wait=26&after=ID", "wait"],
  ["wait=5", "after"],
  ["after=1", "after"],
])("messages with %s are 422", async ([parameters, field]) => {
  const { workspace, path, id } = await createTranscript(1);
  const { status, body } = await workspace.call("GET", `${path}/messages?${parameters!.replace("ID", id)}`);
  expect([status, body.detail.length, body.detail[0].loc]).toEqual([422, 1, ["query", field]]);
});
