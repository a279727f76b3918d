import type { Locator } from "playwright-core";
import { expect, test } from "vitest";
import { call, openPage, serveSite, service } from "./browser.ts";
import { chatOn, conversationOn, embedding, question } from "./chat.ts";
import { createWorkspace, findBarriers, signIn } from "./workspace.ts";

/** A red square of 8 pixels. */
const PNG = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR42mP4z8CAFTEMLQkAM4g/wZYxJ8kAAAAASUVORK5CYII=", "base64");
const image = (name = "photo.png") => ({ name, mimeType: "image/png", buffer: PNG });

/** Drops or pastes a file on an element, with texts by their types. @returns whether the element leaves the texts to the browser. */
function transfer(on: Locator, type: "drop" | "paste", name: string, texts: Record<string, string> = {}): Promise<boolean> {
  return on.evaluate(
    (element, [event, fileName, bytes, texts]) => {
      const data = new DataTransfer();
      for (const [format, text] of Object.entries(texts)) data.setData(format, text);
      data.items.add(new File([Uint8Array.from(atob(bytes), (letter) => letter.charCodeAt(0))], fileName, { type: "image/png" }));
      const init = { bubbles: true, cancelable: true, composed: true };
      const made =
        event === "drop"
          ? new DragEvent("drop", { ...init, dataTransfer: data })
          : new ClipboardEvent("paste", { ...init, clipboardData: data });
      return element.dispatchEvent(made);
    },
    [type, name, PNG.toString("base64"), texts] as const,
  );
}

/** Whether every image that is shown has its pixels. */
const areLoaded = (images: Locator) =>
  images.evaluateAll((all) => all.length > 0 && all.every((one) => (one as HTMLImageElement).naturalWidth > 0));

const attachmentsOf = async (id: string) =>
  (await call<{ messages: { attachments: { name: string }[] }[] }>("GET", `/conversations/${id}`)).messages.map(({ attachments }) =>
    attachments.map(({ name }) => name),
  );

test("a visitor picks, pastes and drops files, sees what is wrong with one, and reads the team's files", async () => {
  const { page, errors } = await openPage();
  await page.goto(await serveSite({ "/": embedding() }));
  const chat = chatOn(page);
  await chat.open();
  const [pending, input] = [chat.window.getByRole("list", { name: "Files" }), chat.window.locator("input[type=file]")];
  await chat.button("Add files").waitFor();
  await input.setInputFiles([image(), { name: "page.html", mimeType: "text/html", buffer: Buffer.from("<html>") }]);
  await pending.getByText("page.html is not an image, a PDF or a plain text.").waitFor();
  // The Finder copies the name of a file with it, and Excel a picture of the cells.
  expect(await transfer(chat.field, "paste", "pasted.png", { "text/plain": "pasted.png" })).toBe(false);
  expect(await transfer(chat.field, "paste", "cells.png", { "text/plain": "10 €", "text/html": "<b>10 €</b>" })).toBe(true);
  await transfer(chat.field, "drop", "dropped.png");
  await expect.poll(() => pending.getByRole("img").count()).toBe(3);
  await chat.button("Remove page.html").click();
  await chat.button("Remove pasted.png").click();
  expect(await findBarriers(page)).toEqual([]);
  await chat.ask(question("markdown"));
  await chat.answered();
  await expect.poll(() => pending.count()).toBe(1);
  await expect.poll(() => areLoaded(chat.log.getByRole("img"))).toBe(true);
  const id = await conversationOn(page);
  await expect.poll(() => attachmentsOf(id)).toEqual([["photo.png", "dropped.png"], []]);
  // A message may have files alone.
  await input.setInputFiles(image("alone.png"));
  await chat.button("Send").click();
  await chat.log.getByRole("img", { name: "alone.png" }).waitFor();
  await expect.poll(async () => (await attachmentsOf(id))[2]).toEqual(["alone.png"]);
  const form = new FormData();
  form.append("file", new File(["%PDF-1.7"], "invoice.pdf"));
  const uploaded = await fetch(`${service.url}/api/v1/attachments`, {
    method: "POST",
    headers: { Authorization: `Bearer ${service.key}` },
    body: form,
  });
  const { id: fileId } = (await uploaded.json()) as { id: string };
  await call("POST", `/conversations/${id}/messages`, { content: "Your invoice", attachments: [fileId] });
  await page.reload();
  await page.getByRole("button", { name: /Open chat/ }).click();
  await chat.log.getByRole("link", { name: "invoice.pdf" }).waitFor();
  expect(await findBarriers(page)).toEqual([]);
  expect(errors.filter((error) => !error.includes("422"))).toEqual([]);
});

test("files that were added stay when the visitor begins a new conversation", async () => {
  const { page } = await openPage();
  await page.goto(await serveSite({ "/": embedding() }));
  const chat = chatOn(page);
  await chat.open();
  await chat.ask(question("markdown"));
  await chat.answered();
  await chat.window.locator("input[type=file]").setInputFiles(image());
  await chat.window.getByRole("list", { name: "Files" }).getByRole("img").waitFor();
  await chat.button("New conversation").click();
  await chat.window.getByText("Ask me anything about this service.").waitFor();
  await chat.ask(question("markdown"));
  await chat.answered();
  expect(await attachmentsOf(await conversationOn(page))).toEqual([["photo.png"], []]);
});

test.each([375, 1440])("the team sends and sees files in the console, at %i pixels", async (width) => {
  const workspace = await createWorkspace();
  const id = await workspace.ask("Where is my parcel?");
  const other = await workspace.ask("Where is my refund?", "Alan Turing");
  const { page } = await openPage({ viewport: { width, height: 800 } });
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/inbox/${id}`);
  const field = page.getByLabel("Reply to the visitor");
  await field.waitFor();
  await page.getByRole("button", { name: "Add files" }).waitFor();
  await page
    .locator(".composer input[type=file]")
    .setInputFiles([image("one.png"), { name: "log.txt", mimeType: "text/plain", buffer: Buffer.from("Hello") }]);
  await transfer(field, "paste", "two.png");
  await expect.poll(() => page.getByRole("list", { name: "Files" }).getByRole("img").count()).toBe(2);
  expect(await findBarriers(page)).toEqual([]);
  // They wait there while another conversation is open.
  await page.goto(`${service.url}/console/#/inbox/${other}`);
  await page.getByRole("heading", { name: "Alan Turing" }).waitFor();
  await page.goto(`${service.url}/console/#/inbox/${id}`);
  await page.getByRole("list", { name: "Files" }).getByText("log.txt").waitFor();
  await page.getByRole("button", { name: "Send", exact: true }).click();
  const log = page.getByRole("log");
  await log.getByRole("link", { name: "log.txt" }).waitFor();
  await expect.poll(() => areLoaded(log.getByRole("img"))).toBe(true);
  await expect.poll(() => filesIn(workspace, id)).toEqual(["one.png", "log.txt", "two.png"]);
  // Notes carry no files.
  await page.getByRole("button", { name: "Note", exact: true }).click();
  expect(await page.getByRole("button", { name: "Add files" }).count()).toBe(0);
  expect(await findBarriers(page)).toEqual([]);
});

test("a bar shows how much of a file is sent, and a refused file says why", async () => {
  const workspace = await createWorkspace();
  const id = await workspace.ask("Where is my parcel?");
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/inbox/${id}`);
  await page.getByRole("button", { name: "Add files" }).waitFor();
  // The shares that the bar has shown, the first and the last of which are those of a fast network too.
  await page.evaluate(() => {
    const seen = new Set<number>();
    new MutationObserver(() => {
      const bar = document.querySelector<HTMLProgressElement>(".file progress");
      if (bar) seen.add(bar.value);
      window.name = JSON.stringify([...seen]);
    }).observe(document.body, { subtree: true, childList: true, attributes: true });
  });
  const network = await page.context().newCDPSession(page);
  const slow = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 500_000 };
  await network.send("Network.emulateNetworkConditions", slow);
  const input = page.locator(".composer input[type=file]");
  await input.setInputFiles({ name: "long.txt", mimeType: "text/plain", buffer: Buffer.alloc(1_000_000, "text ") });
  const bar = page.getByRole("progressbar", { name: "long.txt" });
  await bar.waitFor();
  expect(await findBarriers(page)).toEqual([]);
  await bar.waitFor({ state: "detached" });
  const shares = JSON.parse(await page.evaluate(() => window.name)) as number[];
  expect(shares.some((share) => share > 0 && share < 1)).toBe(true);
  await input.setInputFiles({ name: "page.html", mimeType: "text/html", buffer: Buffer.from("<html>") });
  await page.getByRole("list", { name: "Files" }).getByText("page.html is not an image, a PDF or a plain text.").waitFor();
  await page.getByRole("button", { name: "Send", exact: true }).waitFor();
});

async function filesIn(workspace: Awaited<ReturnType<typeof createWorkspace>>, id: string): Promise<string[]> {
  const { messages } = await workspace.call<{ messages: { role: string; attachments: { name: string }[] }[] }>(
    "GET",
    `/conversations/${id}`,
  );
  return messages.filter(({ role }) => role === "human").flatMap(({ attachments }) => attachments.map(({ name }) => name));
}
