import { expect, test } from "vitest";
import { openPage, serveSite } from "./browser.ts";
import { chatOn, embedding, question } from "./chat.ts";

test("nothing that a model writes runs, leads elsewhere, loads a picture or breaks the layout", async () => {
  const { page, errors } = await openPage({ viewport: { width: 375, height: 667 } });
  const requested: string[] = [];
  page.on("request", (request) => requested.push(request.url()));
  await page.goto(await serveSite({ "/": embedding() }));
  const chat = chatOn(page);
  await chat.open();
  await chat.ask(question("hostile"));
  await chat.answered();
  expect(await page.evaluate(() => "hacked" in window)).toBe(false);
  expect(requested.filter((url) => url.includes("tracker"))).toEqual([]);
  const content = chat.log.locator("article.assistant .text");
  expect(await content.locator("script, img, iframe, style, [onerror]").count()).toBe(0);
  const links = await content.locator("a").evaluateAll((all) => (all as HTMLAnchorElement[]).map(({ protocol, rel }) => [protocol, rel]));
  for (const [protocol, rel] of links) expect([protocol, rel]).toEqual(["https:", "noopener noreferrer nofollow"]);
  const overflow = await chat.log.evaluate((log) => log.scrollWidth - log.clientWidth);
  expect(overflow).toBe(0);
  expect(errors).toEqual([]);
});
