import { beforeAll, expect, test } from "vitest";
import { found, type Index, load, newIndex } from "./agent-index.ts";

/* Questions as people type them find the text that means what they mean. */

let index: Index;
beforeAll(async () => {
  index = newIndex();
  await load(index, {
    password: "Reset your password on the sign-in page.",
    money: "We return your money within a week.",
    delivery: "Parcels are delivered until 8 pm.",
    washing: "The washing machine is in the basement.",
    waste: "Garbage is collected every Tuesday.",
    shifts: "Each shift has a break at noon, and forms are formatted.",
  });
});

test.each([
  ["forgot my pasword", "password"],
  ["i forgot my passwrod", "password"],
  ["wheres my mony", "money"],
  ["how do i get a refund", "money"],
  ["til when do u deliver", "delivery"],
  ["can i wash my clothes", "washing"],
  ["when do you pick up the trash", "waste"],
  ["when is teh brake at noon", "shifts"],
])("%s", async (question, source) => {
  expect((await found(index, question))[0]).toBe(source);
});

test.each([["how do i bake bread"], ["this is shit"], ["less formal"]])(
  "%s: no word of it is taken for another one that looks like it",
  async (question) => {
    expect(await found(index, question)).toEqual([]);
  },
);
