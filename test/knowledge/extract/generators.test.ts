import { describe, expect, test } from "vitest";
import { chunks, cleanText } from "../../../src/knowledge/indexing/chunk.ts";
import docusaurus from "./fixtures/docusaurus.html?raw";
import docusaurusText from "./fixtures/docusaurus.md?raw";
import helpCentre from "./fixtures/help-centre.html?raw";
import helpCentreText from "./fixtures/help-centre.md?raw";
import hugo from "./fixtures/hugo.html?raw";
import hugoText from "./fixtures/hugo.md?raw";
import mkdocs from "./fixtures/mkdocs-material.html?raw";
import mkdocsText from "./fixtures/mkdocs-material.md?raw";
import nextjs from "./fixtures/nextjs-docs.html?raw";
import nextjsText from "./fixtures/nextjs-docs.md?raw";
import sphinx from "./fixtures/sphinx.html?raw";
import sphinxText from "./fixtures/sphinx.md?raw";
import vitepress from "./fixtures/vitepress.html?raw";
import vitepressText from "./fixtures/vitepress.md?raw";
import wordpress from "./fixtures/wordpress.html?raw";
import wordpressText from "./fixtures/wordpress.md?raw";
import { pageOf } from "./page.ts";

const canonical = (url: string) => ({ canonicalUrl: url });

/** Pages as each generator writes them: the text that a reader would copy, and nothing around it. */
const PAGES: [string, string, string, object][] = [
  ["Docusaurus", docusaurus, docusaurusText, { title: "Install the CLI", ...canonical("https://docs.harbour.example/cli/install") }],
  ["MkDocs Material", mkdocs, mkdocsText, { title: "Backups", ...canonical("https://larder.example/admin/backup/") }],
  ["Sphinx", sphinx, sphinxText, { title: "Queues", canonicalUrl: null }],
  ["WordPress", wordpress, wordpressText, { title: "How we ship your order", noindex: false }],
  ["a help centre", helpCentre, helpCentreText, { title: "Change or cancel a booking" }],
  ["Next.js", nextjs, nextjsText, { title: "Webhooks" }],
  ["Hugo", hugo, hugoText, { title: "Rückgabe", ...canonical("https://kiosk.example/service/rueckgabe/") }],
  ["VitePress", vitepress, vitepressText, { title: "Themes" }],
];

describe("pages of site generators", () => {
  test.each(PAGES)("reads %s", async (_, html, text, facts) => {
    const page = await pageOf(html);
    expect(page.text).toBe(text.trimEnd());
    expect(page).toMatchObject({ truncated: false, ...facts });
  });

  test.each(PAGES)("gives the headings and blocks of %s to the chunks", async (_, html) => {
    const page = await pageOf(html);
    const found = [...chunks(cleanText(page.text))].filter((chunk) => chunk !== undefined);
    expect(found.length).toBeGreaterThan(0);
    for (const { heading, content } of found) {
      expect(heading).not.toBeNull();
      expect(content).not.toMatch(/^#{1,6} /m);
    }
  });

  test("keeps the links of navigation, which the text does not have", async () => {
    const { links } = await pageOf(docusaurus, "https://docs.harbour.example/cli/install");
    expect(links.map(({ url }) => url)).toEqual([
      "https://docs.harbour.example/",
      "https://docs.harbour.example/cli",
      "https://github.com/harbour",
      "https://docs.harbour.example/cli/install",
      "https://docs.harbour.example/cli/login",
      "https://docs.harbour.example/requirements",
      "https://github.com/harbour/docs/edit/main/cli/install.md",
    ]);
  });
});
