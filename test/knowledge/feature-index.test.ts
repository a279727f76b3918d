import { describe, expect, test } from "vitest";
import { AnswerClassifier, questionFeatures } from "../../src/knowledge/retrieval/answer-classifier.ts";
import { FeatureIndex } from "../../src/knowledge/retrieval/feature-index.ts";

describe("the index of features", () => {
  test("knows the owners of each feature, however they come and go", () => {
    const index = new FeatureIndex();
    const added: [string, number, number][] = [];
    // Enough to grow the table and the lists several times; owners share features, and have some twice.
    for (let at = 0; at < 20_000; at++) added.push([`f${(at * 7) % 6_000}`, at % 97, [0.5, 0.6, 1][at % 3]!]);
    for (const one of added) index.add(...one);
    const kept = added.filter((one, at) => at % 5 < 2 || !index.remove(...one));
    const again = added.slice(0, 3_000);
    for (const one of again) index.add(...one);
    const expected = Map.groupBy([...kept, ...again], ([feature]) => feature);
    for (const [feature, postings] of expected) {
      expect(index.frequencyOf(feature)).toBe(postings.length);
      const holders = Map.groupBy(postings, ([, owner]) => owner);
      expect(index.holdersOf(feature).toSorted((a, b) => a.owner - b.owner)).toEqual(
        [...holders]
          .map(([owner, own]) => ({ owner, count: own.length, weight: expect.closeTo(own.reduce((sum, [, , weight]) => sum + weight, 0)) }))
          .toSorted((a, b) => a.owner - b.owner),
      );
    }
    expect([...index.all()]).toHaveLength(expected.size);
    expect(index.holdersOf("none")).toEqual([]);
  });

  test("takes no more than its room, and uses again what was removed", () => {
    const index = new FeatureIndex();
    let added = 0;
    while (index.add(`f${added}`, 1, 1)) added++;
    // A few share their hash with another.
    expect(added).toBeGreaterThanOrEqual(1_000_000);
    expect(added).toBeLessThan(1_001_000);
    expect(index.load).toBe(1);
    expect(index.add("f0", 2, 1)).toBe(true);
    expect(index.frequencyOf("f0")).toBe(2);
    expect(index.add("another", 1, 1)).toBe(false);
    expect(index.frequencyOf("another")).toBe(0);
    expect(index.remove("another", 1, 1)).toBe(false);
  });
});

describe("the classifier", () => {
  test("reads the beginning of a question, which is all of most", () => {
    const text = Array.from({ length: 400 }, (_, at) => `word${at}`).join(" ");
    expect(questionFeatures(text).size).toBeLessThan(500);
    expect(questionFeatures("How do I cancel my plan?")).toEqual(questionFeatures("How do I cancel my plan?"));
  });

  test("knows nothing more of an answer that was removed", () => {
    const classifier = new AnswerClassifier();
    const put = (row: number, answer: string, question: string) => classifier.add(row, answer, questionFeatures(question));
    put(1, "A", "Where is my parcel?");
    put(2, "B", "How do I cancel my plan?");
    put(3, "B", "How can I end my plan?");
    classifier.remove(2, "B", questionFeatures("How do I cancel my plan?"));
    expect(classifier.rank(questionFeatures("end plan"), 5).map(({ questions }) => [...questions])).toEqual([[3]]);
    classifier.remove(3, "B", questionFeatures("How can I end my plan?"));
    expect([classifier.size, classifier.frequencyOf("plan"), classifier.rank(questionFeatures("end plan"), 5)]).toEqual([1, 0, []]);
    expect([...classifier.termsWithPrefix("pl").keys()]).toEqual([]);
    put(4, "C", "When is the parcel here?");
    const found = classifier.rank(questionFeatures("my parcel"), 5);
    expect(found.map(({ questions }) => [...questions])).toEqual([[1], [4]]);
  });

  test("finds an answer among five thousand of the longest", () => {
    const classifier = new AnswerClassifier();
    const question = (row: number) => `${Array.from({ length: 60 }, (_, at) => `w${row}x${at}`).join(" ")} parcel${row}`;
    for (let row = 0; row < 5_000; row++) classifier.add(row, `${row}`, questionFeatures(question(row)));
    const [first] = classifier.rank(questionFeatures("parcel4321"), 5);
    expect([...first!.questions]).toEqual([4_321]);
  });
});
