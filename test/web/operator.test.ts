import { expect, test } from "vitest";
import { openPage, operate, service } from "./browser.ts";
import { createWorkspace, signIn } from "./workspace.ts";

test("an operator sees workspaces, their keys, health and the audit log", async () => {
  const workspace = await createWorkspace();
  const { page } = await openPage();
  await signIn(page, service.operatorToken);
  await page.goto(`${service.url}/console/#/workspaces/${workspace.id}`);
  await page.getByRole("region", { name: "API keys" }).getByText("Team").waitFor();
  await page.getByRole("link", { name: "Health" }).click();
  await page.getByRole("heading", { name: "Databases" }).waitFor();
  await page.getByRole("link", { name: "Audit log" }).click();
  await page.getByText("createWorkspace").first().waitFor();
});

test("the operator is asked before a plan changes, and an event is sent again only where that works", async () => {
  const workspace = await createWorkspace();
  const planOf = async () => (await operate<{ plan: string }>("GET", `/workspaces/${workspace.id}`)).plan;
  const { page } = await openPage();
  await signIn(page, service.operatorToken);
  await page.goto(`${service.url}/console/#/workspaces/${workspace.id}`);
  const question = page.getByRole("dialog", { name: "Change the plan" });
  await page.getByLabel("Plan", { exact: true }).selectOption("free");
  await question.getByText("Acme changes from enterprise to free.").waitFor();
  await question.getByRole("button", { name: "Cancel" }).click();
  expect([await page.getByLabel("Plan", { exact: true }).inputValue(), await planOf()]).toEqual(["enterprise", "enterprise"]);
  await page.getByLabel("Plan", { exact: true }).selectOption("pro");
  await question.getByRole("button", { name: "Change to pro" }).click();
  await page.getByText("Saved", { exact: true }).waitFor();
  await expect.poll(planOf).toBe("pro");
  const { id } = await workspace.call<{ id: string }>("POST", "/webhooks", { url: "https://example.invalid/hook", events: ["*"] });
  await workspace.call("POST", `/webhooks/${id}/test`);
  const { page: team } = await openPage();
  await signIn(team, workspace.key);
  await team.goto(`${service.url}/console/#/webhooks/${id}`);
  await team
    .getByRole("row", { name: /webhook\.test/ })
    .getByRole("button", { name: "Details" })
    .click();
  await team.getByText("Request", { exact: true }).click();
  await team.getByText('"type": "webhook.test"').waitFor();
  await team.getByText("A test is not sent again").waitFor();
  expect(await team.getByRole("button", { name: "Send again" }).count()).toBe(0);
});
