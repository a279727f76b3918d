import { expect, test } from "vitest";
import { openPage, service, shoot } from "./browser.ts";
import { createWorkspace, findBarriers, problemOf, signIn } from "./workspace.ts";

test("a team and a rule are made in the settings, and the inbox shows and changes what they did", async () => {
  const workspace = await createWorkspace();
  const invited: { invitation: { url: string } }[] = [];
  for (const name of ["Ada Byron", "Grace Hopper"]) {
    const email = `${name.slice(0, 3).toLowerCase()}@example.com`;
    invited.push(await workspace.call("POST", "/members", { email, name, role: "agent", mail: false }));
  }
  const { page: ada } = await openPage();
  await ada.goto(invited[0]!.invitation.url);
  await ada.getByRole("button", { name: "Sign in" }).click();
  await ada.getByRole("navigation", { name: "Console" }).waitFor();

  const { page, errors } = await openPage({ viewport: { width: 1440, height: 900 } });
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/settings/routing`);
  await page.getByText("No teams yet").waitFor();
  expect(await findBarriers(page)).toEqual([]);
  await page.getByRole("button", { name: "Add team" }).click();
  const team = page.getByRole("dialog", { name: "Team" });
  await team.getByLabel("Name").fill("Billing");
  await team.getByLabel("Ada Byron").check();
  await team.getByLabel("Grace Hopper, invited").check();
  await team.getByLabel("Conversations for each member").fill("1");
  await team.getByLabel("Minutes without a reply").fill("15");
  await shoot(page, "routing-team");
  expect(await findBarriers(page)).toEqual([]);
  await team.getByRole("button", { name: "Save" }).click();
  await page.getByText("Ada Byron, Grace Hopper").waitFor();

  for (const [name, words] of [
    ["Everything", ""],
    ["Refunds", "refund\nmoney back"],
  ] as const) {
    await page.getByRole("button", { name: "Add rule" }).click();
    const rule = page.getByRole("dialog", { name: "Routing rule" });
    await rule.getByLabel("Name").fill(name);
    await rule.getByRole("button", { name: "Save" }).click();
    await rule.getByText("Give one action at least").waitFor();
    await rule.getByLabel("Words or phrases").fill(words);
    await rule.getByLabel("Team").selectOption("Billing");
    await rule.getByLabel("Assigned to").selectOption("The members of the team, in turn");
    if (words) await rule.getByLabel("Priority").selectOption("Urgent");
    await shoot(page, "routing-rule");
    expect(await findBarriers(page)).toEqual([]);
    await rule.getByRole("button", { name: "Save" }).click();
    await page.getByText(name).waitFor();
  }
  await page.getByRole("button", { name: "Move up: Refunds" }).click();
  await page.getByText("1. Refunds").waitFor();
  for (const [width, colorScheme] of [
    [375, "dark"],
    [1440, "light"],
  ] as const) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme });
    await shoot(page, `routing-settings-${width}-${colorScheme}`);
    expect(await findBarriers(page), `${width} ${colorScheme}`).toEqual([]);
  }

  const urgent = await workspace.ask("I want a refund.", "Charles Babbage");
  await workspace.ask("Where is my order?", "Mary Somerville");
  await ada.goto(`${service.url}/console/#/inbox`);
  await ada.getByRole("button", { name: "Mine" }).click();
  await ada.getByRole("button", { name: /Charles Babbage.*Urgent.*Ada Byron/s }).waitFor();
  await page.goto(`${service.url}/console/#/inbox/${urgent}`);
  await page.getByRole("button", { name: /^Unassigned/ }).click();
  await page.getByRole("button", { name: /Mary Somerville.*Billing/s }).waitFor();
  await page.getByLabel("Team", { exact: true }).first().selectOption("Billing");
  const details = page.getByRole("complementary", { name: "Details" });
  await details.getByLabel("Priority").selectOption("Low");
  await expect
    .poll(() => workspace.call("GET", `/conversations/${urgent}`))
    .toMatchObject({ priority: "low", assignee: { name: "Ada Byron" } });
  for (const [width, colorScheme] of [
    [1440, "light"],
    [375, "dark"],
  ] as const) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme });
    await shoot(page, `routing-inbox-${width}-${colorScheme}`);
    expect(await findBarriers(page), `${width} ${colorScheme}`).toEqual([]);
  }
  await details.getByLabel("Team").selectOption("None");
  await expect.poll(() => workspace.call("GET", `/conversations/${urgent}`)).toMatchObject({ team_id: null });
  expect(errors.filter((error) => !/40[1]|422/.test(error))).toEqual([]);
});

test("what cannot be listed stays in a team and in a rule that are saved", async () => {
  const workspace = await createWorkspace();
  const email = "ada@example.com";
  const member = await workspace.call<{ id: string }>("POST", "/members", { email, name: "Ada Byron", role: "agent", mail: false });
  await workspace.call("POST", "/teams", { name: "Billing", member_ids: [member.id] });
  const agent = await workspace.call<{ id: string }>("POST", "/agents", { name: "Shop agent" });
  const named = { conditions: { agent_id: agent.id }, actions: { assignee_id: member.id } };
  await workspace.call("POST", "/routing-rules", { name: "Refunds", ...named });
  // This key may not read the members.
  const scopes = ["agents:read", "conversations:read", "conversations:write"];
  const { key } = await workspace.call<{ key: string }>("POST", "/keys", { name: "Routing", scopes });
  const { page } = await openPage();
  await signIn(page, key);
  await page.goto(`${service.url}/console/#/settings/routing`);
  await page.getByRole("button", { name: "Edit: Billing" }).click();
  const team = page.getByRole("dialog", { name: "Team" });
  await team.getByLabel("Name").fill("Accounts");
  await team.getByRole("button", { name: "Save" }).click();
  await page.getByText("Accounts").waitFor();
  expect(await workspace.call("GET", "/teams")).toMatchObject({ data: [{ name: "Accounts", member_ids: [member.id] }] });
  const rule = page.getByRole("dialog", { name: "Routing rule" });
  const rename = async (from: string, to: string) => {
    await page.getByRole("button", { name: `Edit: ${from}` }).click();
    await rule.getByLabel("Name").fill(to);
    await rule.getByRole("button", { name: "Save" }).click();
  };
  await rename("Refunds", "Returns");
  await page.getByText("Returns").waitFor();
  expect(await workspace.call("GET", "/routing-rules")).toMatchObject({ data: [{ name: "Returns", ...named }] });
  // An agent that was deleted is not replaced by all agents without a question.
  await workspace.call("DELETE", `/agents/${agent.id}`);
  await page.reload();
  await rename("Returns", "Exchanges");
  await expect.poll(() => problemOf(rule, "Agent")).toContain("no agent with this id");
});
