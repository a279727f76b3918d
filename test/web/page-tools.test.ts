import { expect, test } from "vitest";
import { openPage, serveSite } from "./browser.ts";
import { chatOn, embedding } from "./chat.ts";
import { createWorkspace } from "./workspace.ts";

const BASKET = { type: "client", name: "basket", description: "Reads the visitor's basket.", runs_in: "browser" };

/** A page whose agent has the tool, and which runs this script. */
async function openShop(script: string) {
  const workspace = await createWorkspace();
  await workspace.call("PATCH", `/agents/${workspace.agentId}`, { name: "Demo agent", allowed_origins: ["*"], tools: [BASKET] });
  const opened = await openPage();
  const queue = "window.SupportAgent ??= function () { (SupportAgent.q ??= []).push(arguments); };";
  const head = `<script>${queue}${script}</script>`;
  await opened.page.goto(await serveSite({ "/": embedding({ agentId: workspace.agentId, head }) }));
  const chat = chatOn(opened.page);
  await chat.open();
  return { ...opened, chat };
}

test("an agent calls a function of the page, and answers with its result", async () => {
  const { chat, errors } = await openShop('SupportAgent("tools", { basket: async () => ({ total: "48.00 EUR" }) });');
  await chat.ask("What is in my basket? [basket]");
  await chat.log.getByText("48.00 EUR").waitFor();
  expect(errors).toEqual([]);
});

test("a function that fails does not end the chat", async () => {
  const { chat } = await openShop('SupportAgent("tools", { basket: () => { throw new Error("The shop is closed."); } });');
  await chat.ask("What is in my basket? [basket]");
  await chat.log.locator("article.assistant").nth(0).waitFor();
  await chat.ask("How are you?");
  await chat.log.locator("article.assistant").nth(1).waitFor();
  await expect.poll(() => chat.log.locator("article.user").count()).toBe(2);
});
