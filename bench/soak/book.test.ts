import assert from "node:assert/strict";
import { test } from "node:test";
import { Book } from "./book.ts";

const DAY_MS = 24 * 60 * 60_000;

function bookOf(listed: { id: string; atMs: number }[]): Book {
  const book = new Book("conversation", 30 * DAY_MS);
  book.update(listed);
  return book;
}

void test("a record that is missing before its retention ends is lost", () => {
  const [finding, ...others] = bookOf([{ id: "one", atMs: 0 }]).check([], 29 * DAY_MS);
  assert.deepEqual([finding?.problem, others], ["lost", []]);
});

void test("a record that is listed after its retention is half deleted", () => {
  const listed = [{ id: "one", atMs: 0 }];
  assert.deepEqual(bookOf(listed).check(listed, 30 * DAY_MS), []);
  assert.deepEqual(
    bookOf(listed)
      .check(listed, 31 * DAY_MS)
      .map(({ problem }) => problem),
    ["half"],
  );
});

void test("a record may be missing after its retention, and is forgotten then", () => {
  const book = bookOf([{ id: "one", atMs: 0 }]);
  assert.deepEqual(book.check([], 31 * DAY_MS), []);
  book.update([{ id: "two", atMs: 31 * DAY_MS }]);
  assert.deepEqual([...book.ids], ["two"]);
});
