import type { Locator, Page } from "playwright-core";
import { service } from "./browser.ts";

/** A page of a website that embeds the chat of the demo agent, as the guide says. */
export function embedding({ head = "", body = "", attributes = "", agentId = service.agentId } = {}): string {
  return `<!doctype html>
<html lang="en">
  <head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Shop</title>${head}</head>
  <body><h1>Shop</h1>${body}<script src="${service.url}/widget.js" data-agent="${agentId}" async ${attributes}></script></body>
</html>`;
}

/** A question for which the demo agent has knowledge. The model answers by the word in brackets. */
export const question = (name: "slow" | "markdown" | "hostile") => `How are webhooks signed? [${name}]`;

/** The conversation that a page shows: other files have conversations with the agent at the same time. */
export async function conversationOn(page: Page): Promise<string> {
  const kept = await page.evaluate((agentId) => localStorage.getItem(`support-agent:${agentId}`), service.agentId);
  return (JSON.parse(kept ?? "{}") as { conversation: string }).conversation;
}

/** The chat as a visitor sees and uses it. */
export function chatOn(page: Page) {
  const window = page.getByRole("dialog", { name: "Chat with Demo agent" });
  const button = (name: string): Locator => page.getByRole("button", { name, exact: true });
  // A page may also have an inline chat, whose field this is not.
  const field = page.locator("support-agent[launcher], support-agent[page]").getByRole("textbox", { name: "Your message" });
  return {
    window,
    button,
    field,
    log: page.getByRole("log", { name: "Messages" }),
    open: async () => {
      await button("Open chat").click();
      await window.waitFor();
    },
    ask: async (text: string) => {
      await field.fill(text);
      await field.press("Enter");
    },
    /** Waits for the answer with this number. */
    answered: (count = 1) =>
      button("Helpful")
        .nth(count - 1)
        .waitFor(),
  };
}
