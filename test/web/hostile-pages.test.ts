import { expect, test } from "vitest";
import { call, openPage, serveSite, service } from "./browser.ts";
import { chatOn, embedding, question } from "./chat.ts";

/** Opens the chat on a page, and asks: it works, and the page reports nothing. */
async function converse(html: string, headers: Record<string, string> = {}, options: Parameters<typeof openPage>[0] = {}) {
  const { page, errors } = await openPage(options);
  await page.goto(await serveSite({ "/": html }, headers));
  const chat = chatOn(page);
  await chat.open();
  await chat.ask(question("markdown"));
  await chat.answered();
  expect(errors).toEqual([]);
  return { page, chat };
}

test("no style of the page reaches the chat, and nothing of the page stands above it", async () => {
  const style = `<style>
    * { all: unset !important; display: inline !important; font-size: 3px !important; color: red !important; visibility: hidden !important; }
    support-agent { display: none !important; opacity: 0 !important; z-index: -1 !important; transform: scale(0.1) !important; }
    body { transform: translateX(500px) !important; overflow: hidden !important; }
    .cover { position: fixed !important; inset: 0 !important; z-index: 2147483647 !important; background: black !important; visibility: visible !important; }
  </style>`;
  const { chat } = await converse(embedding({ head: style, body: `<div class="cover"></div>` }));
  const box = (await chat.window.boundingBox())!;
  expect([Math.round(box.x), Math.round(box.width)]).toEqual([1280 - 20 - 400, 400]);
  await expect.poll(() => chat.field.evaluate((element) => getComputedStyle(element).fontSize)).toBe("14px");
});

test("it needs no more of a strict Content-Security-Policy than the guide says, under COEP and Trusted Types", async () => {
  const { host } = new URL(service.url);
  const policy = `default-src 'none'; script-src http://${host}; connect-src http://${host} ws://${host}; require-trusted-types-for 'script'; trusted-types 'none'`;
  await converse(embedding(), {
    "Content-Security-Policy": policy,
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Opener-Policy": "same-origin",
  });
});

test("it works where the page may store nothing", async () => {
  const blocked = `<script>
    for (const name of ["localStorage", "sessionStorage"])
      Object.defineProperty(window, name, { get() { throw new DOMException("Blocked", "SecurityError"); } });
  </script>`;
  await converse(embedding({ head: blocked }));
});

test("two chats stand on one page, and one that is taken out and put back goes on", async () => {
  const inline = `<support-agent agent="${service.agentId}"></support-agent>`;
  const { page, chat } = await converse(embedding({ body: `<div id="from">${inline}</div><div id="to"></div>` }));
  const region = page.getByRole("region", { name: "Chat with Demo agent" });
  await region.getByRole("textbox", { name: "Your message" }).waitFor();
  await page.evaluate(() => document.querySelector("#to")!.append(document.querySelector("#from support-agent")!));
  await region.getByText("Ask me anything about this service.").waitFor();
  await page.evaluate(() => {
    const floating = document.querySelector("support-agent[launcher]")!;
    floating.remove();
    document.documentElement.append(floating);
  });
  await chat.window.locator("article").getByText("Here is how").waitFor();
});

test("two agents on one page cover neither each other's launcher nor their windows, and one window is open at a time", async () => {
  const { id: other } = await call<{ id: string }>("POST", "/agents", { name: "Sales", allowed_origins: ["*"] });
  const second = `<script src="${service.url}/widget.js" data-agent="${other}" async></script>`;
  for (const viewport of [
    { width: 1280, height: 800 },
    { width: 375, height: 700 },
  ]) {
    const { page } = await openPage({ viewport });
    await page.goto(await serveSite({ "/": embedding({ body: second }) }));
    const launchers = page.getByRole("button", { name: "Open chat" });
    await launchers.nth(1).waitFor();
    for (const [at, name] of ["Demo agent", "Sales"].entries()) {
      const element = page.locator("support-agent[launcher]").filter({ has: page.locator(`[aria-label="Chat with ${name}"]`) });
      // The window is added when its launcher is first pointed at.
      for (const launcher of await launchers.all()) await launcher.hover();
      await element.getByRole("button", { name: "Open chat" }).click();
      const window = page.getByRole("dialog", { name: `Chat with ${name}` });
      await window.getByRole("textbox").click();
      await expect.poll(() => page.getByRole("dialog").count(), { message: `${name}, window ${at}` }).toBe(1);
      if (viewport.width > 480) await launchers.first().click({ trial: true });
      await window.getByRole("button", { name: "Close chat" }).click();
    }
  }
});

test("it fits 320 pixels, a zoom of 200 percent, and right-to-left languages", async () => {
  for (const [attributes, viewport, direction] of [
    [`lang="ar"`, { width: 320, height: 480 }, "rtl"],
    // A window of 1280 pixels, zoomed.
    [`lang="de"`, { width: 640, height: 400 }, "ltr"],
  ] as const) {
    const { page, errors } = await openPage({ viewport });
    await page.goto(await serveSite({ "/": embedding({ attributes }) }));
    await page.locator(".launcher").click();
    const field = page.locator("textarea");
    const directionOf = () => field.evaluate((element) => getComputedStyle(element).direction);
    await expect.poll(directionOf).toBe(direction);
    await field.fill(question("markdown"));
    await expect.poll(directionOf).toBe("ltr");
    await field.press("Enter");
    await page.locator(".thumbs").waitFor();
    const inside = await page.locator(".window").evaluate((window) => {
      const { left, right, top, bottom } = window.getBoundingClientRect();
      const scroller = window.querySelector(".scroller")!;
      return left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight && scroller.scrollWidth <= scroller.clientWidth;
    });
    expect(inside, attributes).toBe(true);
    expect(errors).toEqual([]);
  }
});

test("the page's calls are obeyed, from before and after loading", async () => {
  const { page, errors } = await openPage();
  const early = `<script>window.SupportAgent = (...call) => (SupportAgent.q ??= []).push(call); SupportAgent("open");</script>`;
  await page.goto(await serveSite({ "/": embedding({ head: early }) }));
  const chat = chatOn(page);
  await chat.window.waitFor();
  const command = (name: string) =>
    page.evaluate((name) => (window as unknown as { SupportAgent: (name: string) => void }).SupportAgent(name), name);
  await chat.ask(question("markdown"));
  await chat.answered();
  await command("close");
  await chat.window.waitFor({ state: "hidden" });
  await command("reset");
  await command("open");
  await chat.window.getByText("Ask me anything about this service.").waitFor();
  await command("destroy");
  await page.locator("support-agent").waitFor({ state: "detached" });
  expect(errors).toEqual([]);
});

test("a listener of the page that fails does not end the chat", async () => {
  const { page, errors } = await openPage();
  const failing = `<script>window.SupportAgent = (...call) => (SupportAgent.q ??= []).push(call);
    for (const event of ["ready", "message_sent", "answered"]) SupportAgent("on", event, () => { throw new Error(event); });</script>`;
  await page.goto(await serveSite({ "/": embedding({ head: failing }) }));
  const chat = chatOn(page);
  await chat.open();
  await chat.ask(question("markdown"));
  await chat.answered();
  await expect.poll(() => errors).toEqual(["ready", "message_sent", "answered"]);
  expect(await chat.button("Try again").count()).toBe(0);
});

test("an agent that does not exist, or that the page may not use, shows nothing and says why in the console", async () => {
  const { page, errors } = await openPage();
  await page.goto(await serveSite({ "/": embedding({ agentId: "019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00" }) }));
  await expect.poll(() => errors.join("\n")).toContain("No agent with this id");
  const { id: agentId } = await call<{ id: string }>("POST", "/agents", { name: "Private", allowed_origins: ["https://www.example.com"] });
  const site = await serveSite({ "/": embedding({ agentId }) });
  await page.goto(site);
  await expect.poll(() => errors.join("\n")).toContain(`Pages of ${site} may not use the agent`);
  expect(await page.getByRole("button").count()).toBe(0);
});
