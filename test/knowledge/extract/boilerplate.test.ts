import { describe, expect, test } from "vitest";
import { blockFingerprints, dropBoilerplate, isRepeated } from "../../../src/knowledge/extract/boilerplate.ts";

describe("boilerplate", () => {
  const page = (topic: string) =>
    `# ${topic}\n\nCall us on 0800 1234, we are here.\n\nAll about ${topic}.\n\n## Related\n\n- Home\n- Shop\n\nMade in Leeds.`;
  const pages = ["Clocks", "Watches", "Bells", "Dials", "Springs", "Keys"].map(page);

  function boilerplate(): Set<string> {
    const counts = new Map<string, number>();
    for (const text of pages) for (const print of blockFingerprints(text)) counts.set(print, (counts.get(print) ?? 0) + 1);
    return new Set([...counts].filter(([, holding]) => isRepeated({ pages: pages.length, holding })).map(([print]) => print));
  }

  test("is dropped, with a heading that has nothing else", () => {
    const found = boilerplate();
    expect(dropBoilerplate(pages[0]!, (print) => found.has(print))).toBe("# Clocks\n\nAll about Clocks.");
  });

  test("is compared by content, not by case and spaces", () => {
    expect(blockFingerprints("Made  in LEEDS.")).toEqual(blockFingerprints("made in leeds."));
    expect(blockFingerprints("Made in Leeds.")).not.toEqual(blockFingerprints("Made in Lyons."));
  });

  test("is no heading that all pages have above different text", () => {
    const isHeading = new Set(blockFingerprints("## Example"));
    expect(dropBoilerplate("## Example\n\nIts own.", (print) => isHeading.has(print))).toBe("## Example\n\nIts own.");
  });

  test("is recognised only with enough pages", () => {
    expect(isRepeated({ pages: 4, holding: 4 })).toBe(false);
    expect(isRepeated({ pages: 100, holding: 30 })).toBe(false);
    expect(isRepeated({ pages: 100, holding: 60 })).toBe(true);
  });

  test("is never a long block or code, and a text without any stays unchanged", () => {
    const text = `Text\nwith  odd   spaces.\n\n${"long ".repeat(200)}\n\n\`\`\`\ncode\n\`\`\``;
    expect(dropBoilerplate(text, () => false)).toBe(text);
    expect(dropBoilerplate(text, () => true)).toContain("code");
  });
});
