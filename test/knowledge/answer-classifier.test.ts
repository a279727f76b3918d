import { expect, test } from "vitest";
import { AnswerClassifier } from "../../src/knowledge/retrieval/answer-classifier.ts";
import { wordingOf } from "../../src/knowledge/retrieval/question-similarity.ts";

const read = (question: string) => wordingOf(question, "en");
const ranked = (classifier: AnswerClassifier, question: string) => classifier.rank(read(question), 5).map(({ rows }) => rows);

test("only the beginning of a question is read, which is all of most", () => {
  const text = Array.from({ length: 400 }, (_, at) => `word${at}`).join(" ");
  expect(read(text).words).toHaveLength(64);
});

test("an answer that was removed leaves nothing behind", () => {
  const classifier = new AnswerClassifier();
  const put = (row: number, answer: string, question: string) => classifier.add(row, answer, read(question));
  put(1, "A", "Where is my parcel?");
  put(2, "B", "How do I cancel my plan?");
  put(3, "B", "How can I end my plan?");
  classifier.remove(2, "B", read("How do I cancel my plan?"));
  expect(ranked(classifier, "end plan")).toEqual([[3]]);
  classifier.remove(3, "B", read("How can I end my plan?"));
  expect([classifier.size, classifier.frequencyOf("plan"), ranked(classifier, "end plan")]).toEqual([1, 0, []]);
  expect(classifier.termsWithPrefix("pl")).toEqual([]);
  put(4, "C", "When is the parcel here?");
  expect(ranked(classifier, "my parcel")).toEqual([[1], [4]]);
  put(5, "D", "May I change my plan?");
  expect(classifier.termsWithPrefix("pl")).toEqual(["plan"]);
});

test("a thousand answers that are added and removed in turn leave those that were there, in the same order", () => {
  const question = (row: number) => `How do I move parcel${row % 7} to place${row % 11} by day${row % 3}?`;
  const [kept, changed] = [new AnswerClassifier(), new AnswerClassifier()];
  for (let row = 0; row < 1_000; row++) changed.add(row, `${row % 40}`, read(question(row)));
  for (let row = 0; row < 1_000; row++) if (row % 5 > 1) changed.remove(row, `${row % 40}`, read(question(row)));
  for (let row = 0; row < 1_000; row++) if (row % 5 <= 1) kept.add(row, `${row % 40}`, read(question(row)));
  expect(changed.rank(read("parcel3 to place8"), 5)).toEqual(kept.rank(read("parcel3 to place8"), 5));
  expect(changed.frequencyOf("parcel3")).toBe(kept.frequencyOf("parcel3"));
});

test("an answer is found among five thousand of the longest", () => {
  const classifier = new AnswerClassifier();
  const question = (row: number) => `${Array.from({ length: 60 }, (_, at) => `w${row}x${at}`).join(" ")} parcel${row}`;
  for (let row = 0; row < 5_000; row++) classifier.add(row, `${row}`, read(question(row)));
  expect(ranked(classifier, "parcel4321")[0]).toEqual([4_321]);
});

test("beyond its room nothing is added, what is there is still found, and what is removed makes room", () => {
  const classifier = new AnswerClassifier(50);
  const put = (row: number) => classifier.add(row, `${row}`, read(`first${row} second${row} third${row}`));
  for (let row = 0; row < 30; row++) put(row);
  expect([classifier.frequencyOf("first1"), classifier.frequencyOf("first29")]).toEqual([1, 0]);
  expect(ranked(classifier, "first1")).toEqual([[1]]);
  classifier.remove(29, "29", read("first29 second29 third29"));
  classifier.remove(1, "1", read("first1 second1 third1"));
  expect(ranked(classifier, "first1")).toEqual([]);
  put(31);
  expect(ranked(classifier, "first31")).toEqual([[31]]);
});
