import { expect, test } from "vitest";
import { openPage, serveSite, service } from "./browser.ts";
import { createWorkspace, findBarriers, signIn } from "./workspace.ts";

const PARAMETERS = {
  type: "object",
  properties: { order: { type: "string" }, amount: { type: "number", maximum: 50 } },
  required: ["order", "amount"],
};

/** Opens a conversation in which the agent asks to pay 48 euros back. */
async function openRequest(viewport = { width: 1440, height: 900 }) {
  const workspace = await createWorkspace();
  const site = await serveSite({ "/refunds/4711": '{"total":"48.00 EUR"}' });
  const tool = {
    name: "refund_order",
    description: "Pays money back.",
    parameters: PARAMETERS,
    method: "POST",
    url: `${site}/refunds/{order}`,
  };
  await workspace.call("PATCH", `/agents/${workspace.agentId}`, {
    tools: [{ ...tool, requires_verified_visitor: false, requires_approval: true }],
  });
  const id = await workspace.ask("Please pay my order 4711 back. [refund]");
  const opened = await openPage({ viewport });
  const { page } = opened;
  await signIn(page, workspace.key);
  // The console has asked for its session before anybody had signed in.
  opened.errors.length = 0;
  await page.goto(`${service.url}/console/#/inbox/${id}`);
  const card = page.getByRole("region", { name: "Approval" });
  await card.waitFor();
  if (process.env["SHOTS"]) await page.screenshot({ path: `${process.env["SHOTS"]}-${viewport.width}.png` });
  return { ...opened, workspace, id, card, log: page.getByRole("log", { name: "Messages" }) };
}

const decisionsOf = async (workspace: Awaited<ReturnType<typeof createWorkspace>>) =>
  (await workspace.call<{ data: Record<string, unknown>[] }>("GET", "/approvals")).data;

test("a tool call is approved in the inbox, and the answer appears", async () => {
  const { page, card, log, workspace, errors } = await openRequest();
  await card.getByText("refund_order").waitFor();
  await card.getByText("4711").waitFor();
  expect(await findBarriers(page)).toEqual([]);
  await page.keyboard.press("a");
  await log.getByText("48.00 EUR").waitFor();
  await card.waitFor({ state: "detached" });
  await expect
    .poll(() => decisionsOf(workspace))
    .toMatchObject([{ status: "approved", decided_by: { name: "Grace Hopper" }, outcome: "answered" }]);
  expect(errors).toEqual([]);
});

test("a tool call is declined with a reason", async () => {
  const { page, card, workspace } = await openRequest({ width: 375, height: 720 });
  await page.keyboard.press("x");
  const dialog = page.getByRole("dialog", { name: "Decline refund_order" });
  await dialog.getByLabel("Reason").fill("The order is too old.");
  expect(await findBarriers(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Decline" }).click();
  await card.waitFor({ state: "detached" });
  await expect.poll(() => decisionsOf(workspace)).toMatchObject([{ status: "declined", reason: "The order is too old." }]);
});

test("the arguments of a tool call are changed within its schema", async () => {
  const { page, card, workspace } = await openRequest();
  await card.getByRole("button", { name: "Change" }).click();
  const dialog = page.getByRole("dialog", { name: "Change refund_order" });
  await dialog.getByLabel("Arguments").fill('{"order": "4711", "amount": 500}');
  await dialog.getByRole("button", { name: "Approve" }).click();
  await dialog.getByText("maximum").waitFor();
  await dialog.getByLabel("Arguments").fill('{"order": "4711", "amount": 30}');
  await dialog.getByRole("button", { name: "Approve" }).click();
  await card.waitFor({ state: "detached" });
  await expect.poll(() => decisionsOf(workspace)).toMatchObject([{ status: "approved", arguments: { order: "4711", amount: 30 } }]);
});
