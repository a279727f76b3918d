import { expect, test } from "vitest";
import { describeError, Fault } from "../../../src/platform/telemetry/errors.ts";

const PERSON = "lovelace@example.com";

/** An error as code brings it about. */
function thrownBy(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

test.each<[string, unknown]>([
  ["a parser quotes what it read", thrownBy(() => JSON.parse(`${PERSON} {`))],
  ["an URL that is none", thrownBy(() => new URL(PERSON))],
  ["a driver names its parameters", new Error(`Failed query: insert into leads values (?)\nparams: ${PERSON}`)],
  ["what has no class", PERSON],
  ["an object", { message: PERSON }],
  ["a class that is somebody's text", Object.assign(new Error("no"), { name: PERSON })],
  ["a property's name", thrownBy(() => (undefined as any)[PERSON])],
  ["a message with lines like a stack's", new Error(`it broke\n    at ${PERSON} (index.js:1:1)`)],
  ["what D1 quotes", new Error(`D1_ERROR: near "${PERSON}": syntax error`)],
  ["a message that only begins like one of the platform's", new Error(`Durable Object reset because of "${PERSON}"`)],
  ["a cause", new Error("outer", { cause: new Error(PERSON) })],
])("%s: nothing of it is told", (_, error) => {
  expect(JSON.stringify(describeError(error))).not.toContain("lovelace");
});

test.each<[unknown, string, string | undefined]>([
  [new Fault("No D1 database is bound for shard 7"), "Fault", "No D1 database is bound for shard 7"],
  [
    new Error("D1_ERROR: UNIQUE constraint failed: leads.id: SQLITE_CONSTRAINT"),
    "Error",
    "D1_ERROR: UNIQUE constraint failed: leads.id: SQLITE_CONSTRAINT",
  ],
  [new Error("outer", { cause: new Error("D1_ERROR: it is down") }), "Error", "D1_ERROR: it is down"],
  [thrownBy(() => (undefined as any).name), "TypeError", "Cannot read properties of undefined"],
  [undefined, "undefined", undefined],
  [new Error("anything else"), "Error", undefined],
])("what is known to hold no data is told: %s", (error, name, detail) => {
  expect(describeError(error)).toMatchObject({ error: name });
  expect(describeError(error).detail).toBe(detail);
});

test("stack frames are listed, innermost first", () => {
  const { at } = describeError(
    thrownBy(function innermost() {
      throw new RangeError("no");
    }),
  );
  expect(at![0]).toContain("innermost");
  expect(at!.length).toBeLessThanOrEqual(8);
});
