import { describe, expect, test } from "vitest";
import { isOfSite, normalisedUrl, onSite, pageKey } from "../../../src/knowledge/crawl/urls.ts";

describe("URLs of pages", () => {
  test.each([
    ["HTTPS://Docs.Acme.Example:443/Guide?a=1#top", "https://docs.acme.example/Guide?a=1"],
    ["http://a.example:80", "http://a.example/"],
    ["https://a.example./x", "https://a.example/x"],
    ["https://user:secret@a.example/x", "https://a.example/x"],
    ["https://a.example/%7euser/%c3%a9%2f?q=%41%20b", "https://a.example/~user/%C3%A9%2F?q=A%20b"],
    ["https://a.example/é?ü", "https://a.example/%C3%A9?%C3%BC"],
    ["https://a.example/a/./b/../c", "https://a.example/a/c"],
    ["https://a.example/p?utm_source=x&id=7&gclid=y&fbclid=z&UTM_Campaign=q", "https://a.example/p?id=7"],
    ["https://a.example/p?&", "https://a.example/p"],
    ["https://a.example/p;jsessionid=AB12?x=1", "https://a.example/p?x=1"],
    ["https://a.example/index.html", "https://a.example/index.html"],
    ["mailto:a@b.example", null],
    ["nonsense", null],
    [`https://a.example/${"x".repeat(2_000)}`, null],
  ])("normalises %s", (written, expected) => {
    expect(normalisedUrl(written)).toBe(expected);
    if (expected !== null) expect(normalisedUrl(expected)).toBe(expected);
  });

  test("gives spellings of one page the same key", () => {
    const same = [
      "https://a.example/docs/",
      "https://a.example/docs",
      "http://a.example/docs/index.html",
      "https://www.a.example/docs/index.php",
    ];
    expect(new Set(same.map(pageKey)).size).toBe(1);
    expect(pageKey("https://a.example/?b=2&a=1&b=1")).toBe(pageKey("https://a.example/?a=1&b=2&b=1"));
  });

  test("gives different pages different keys", () => {
    const different = [
      "https://a.example/Docs",
      "https://a.example/docs",
      "https://b.example/docs",
      "https://a.example:8443/docs",
      "https://a.example/docs?p=1",
      "https://a.example/docs?p=2",
    ];
    expect(new Set(different.map(pageKey)).size).toBe(different.length);
  });

  test("treats the host with and without www as one site, and no other host", () => {
    const site = "https://www.a.example";
    for (const url of ["https://www.a.example/x", "https://a.example/x", "http://a.example/x"]) expect(isOfSite(url, site)).toBe(true);
    for (const url of ["https://docs.a.example/", "https://a.example.evil.example/", "https://a.example:8443/", "https://wwwa.example/"]) {
      expect(isOfSite(url, site)).toBe(false);
    }
    expect(isOfSite("http://127.0.0.1:9161/x", "http://127.0.0.1:9160")).toBe(false);
    expect(onSite("http://a.example/x?y=1", site)).toBe("https://www.a.example/x?y=1");
  });
});
