import { beforeEach, describe, expect, test } from "vitest";
import type { CallResult } from "../../src/agents/tool-call.ts";
import { CallJournal, type JournalStorage } from "../../src/agents/tool-journal.ts";

const done = (text: string): CallResult => ({ kind: "answered", text });

/** An object's storage, which outlives the object. */
class Storage implements JournalStorage {
  readonly entries = new Map<string, unknown>();
  list<Value>({ prefix = "" }: SyncKvListOptions = {}): Iterable<[string, Value]> {
    return [...this.entries].filter(([name]) => name.startsWith(prefix)) as [string, Value][];
  }
  put(name: string, value: unknown): void {
    this.entries.set(name, structuredClone(value));
  }
  delete(name: string): boolean {
    return this.entries.delete(name);
  }
}

let storage: Storage;
let made: string[];

/** A life of the object that runs the turn. */
function life(turnId = "turn") {
  const journal = new CallJournal(storage);
  journal.open(turnId);
  return {
    journal,
    close: () => journal.close(turnId),
    call: async (key: string, result: CallResult | "dies" = done(key)) => {
      const make = async () => {
        made.push(key);
        if (result === "dies") throw new Error("The object died");
        return result;
      };
      const journaled = await journal.once(key, make);
      return journaled.isKnown ? journaled.result.kind : "not known";
    },
  };
}

beforeEach(() => {
  storage = new Storage();
  made = [];
});

describe("a changing call", () => {
  test("is made once in its attempt, asked for twice in sequence or in parallel", async () => {
    const { call } = life();
    expect(await Promise.all([call("a"), call("a")])).toEqual(["answered", "answered"]);
    expect(await call("a")).toBe("answered");
    expect(made).toEqual(["a"]);
  });

  test("is not made again by the next attempt, which gets its result", async () => {
    await life().call("a");
    expect(await life().call("a")).toBe("answered");
    expect(made).toEqual(["a"]);
  });

  test("that was in flight when the object died is not made again, since its result is unknown", async () => {
    await life()
      .call("a", "dies")
      .catch(() => undefined);
    expect(await life().call("a")).toBe("not known");
    expect(made).toEqual(["a"]);
  });

  test("that got no response is not made again, in this attempt or the next", async () => {
    const { call } = life();
    expect(await call("a", { kind: "unknown", problem: "It did not answer in time." })).toBe("not known");
    expect(await call("a")).toBe("not known");
    expect(await life().call("a")).toBe("not known");
    expect(made).toEqual(["a"]);
  });

  test("that failed is not made again, since it may have taken effect", async () => {
    const { call } = life();
    await call("a", { kind: "failed", problem: "It answered with status 500.", text: "" });
    expect(await call("a")).toBe("failed");
    expect(made).toEqual(["a"]);
  });

  test("that was never sent may be made by the next attempt", async () => {
    await life().call("a", { kind: "refused", problem: "Nothing was done." });
    expect(await life().call("a")).toBe("answered");
    expect(made).toEqual(["a", "a"]);
  });
});

describe("a further attempt", () => {
  test("makes new calls after it has repeated those of the attempt before", async () => {
    const first = life();
    await first.call("a");
    await first.call("b");
    const second = life();
    expect([await second.call("a"), await second.call("b"), await second.call("c")]).toEqual(["answered", "answered", "answered"]);
    expect(made).toEqual(["a", "b", "c"]);
  });

  test("makes no new call before: it could be an old one in other words", async () => {
    await life().call("a");
    const second = life();
    expect(await second.call("a in other words")).toBe("not known");
    expect(made).toEqual(["a"]);
  });

  test("at another turn has no earlier calls", async () => {
    await life().call("a");
    const other = life("other turn");
    expect(await other.call("b")).toBe("answered");
    expect(made).toEqual(["a", "b"]);
  });
});

test("stores nothing once the turn has ended", async () => {
  const { call, close } = life();
  await call("a");
  expect(storage.entries.size).toBe(1);
  close();
  expect(storage.entries.size).toBe(0);
  // The entries that a dead run left are deleted too.
  await life().call("b");
  new CallJournal(storage).close("turn");
  expect(storage.entries.size).toBe(0);
});

test("keeps the calls of a turn that is still attempted when another turn ends", async () => {
  await life().call("a");
  const other = life("other turn");
  await other.call("b");
  other.close();
  expect(await life().call("a")).toBe("answered");
  expect(made).toEqual(["a", "b"]);
});

test("without storage, calls are kept in memory", async () => {
  const journal = new CallJournal();
  for (let run = 0; run < 2; run++) {
    journal.open("turn");
    const make = async () => (made.push("a"), done("a"));
    expect(await journal.once("a", make)).toMatchObject({ isKnown: true });
  }
  expect(made).toEqual(["a"]);
});

test("a call that ends after its storage was erased is not stored", async () => {
  const journal = new CallJournal(storage);
  let isErased = false;
  journal.open("turn", [], () => isErased);
  await journal.once("a", async () => done("a"));
  isErased = true;
  storage.entries.clear();
  expect(await journal.once("b", async () => done("b"))).toMatchObject({ isKnown: true });
  expect(storage.entries.size).toBe(0);
});
