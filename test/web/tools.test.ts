import { expect, test } from "vitest";
import { openPage, serveSite, service } from "./browser.ts";
import { type ConsoleWorkspace, createWorkspace, findBarriers, problemOf, signIn } from "./workspace.ts";

interface StoredTool {
  name: string;
  headers: Record<string, null>;
}

/** Opens the settings of a workspace's agent, and returns its tools as they are stored. */
async function openTools(workspace: ConsoleWorkspace) {
  const opened = await openPage();
  const { page } = opened;
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/settings/agents/${workspace.agentId}`);
  const section = page.getByRole("region", { name: "Tools" });
  await section.waitFor();
  const stored = async () => (await workspace.call<{ tools: StoredTool[] }>("GET", `/agents/${workspace.agentId}`)).tools;
  return { ...opened, section, stored };
}

test("a tool is added, tried, changed and deleted in the settings, and the values of its headers are never shown again", async () => {
  const workspace = await createWorkspace();
  const site = await serveSite({ "/orders/4711": "It is on its way." });
  const { page, section, stored } = await openTools(workspace);
  await section.getByRole("button", { name: "Add tool" }).click();
  const added = page.getByRole("dialog", { name: "Add tool" });
  await added.getByLabel("Name", { exact: true }).fill("order_status");
  await added.getByLabel("Description").fill("Says where an order is.");
  await added.getByLabel("URL").fill(`${site}/orders/{order}`);
  await added.getByRole("button", { name: "Add parameter" }).click();
  const parameter = added.getByRole("group", { name: "Parameter" });
  await parameter.getByLabel("Name").fill("order");
  await parameter.getByLabel("Meaning").fill("Its number");
  await added.getByRole("button", { name: "Add header" }).click();
  const header = added.getByRole("group", { name: "Header" });
  await header.getByLabel("Name").fill("Authorization");
  await header.getByLabel("Value").fill("Bearer the-secret");
  expect(await findBarriers(page)).toEqual([]);
  await added.getByRole("button", { name: "Add tool" }).click();
  await added.waitFor({ state: "detached" });
  await section.getByText(`GET ${site}/orders/{order}`).waitFor();
  const tool = {
    name: "order_status",
    description: "Says where an order is.",
    method: "GET",
    parameters: { type: "object", properties: { order: { type: "string", description: "Its number" } }, required: ["order"] },
    headers: { Authorization: null },
    requires_verified_visitor: false,
    requires_approval: false,
    timeout_seconds: 10,
  };
  await expect.poll(stored).toMatchObject([tool]);

  await section.getByRole("button", { name: "Test order_status" }).click();
  const tried = page.getByRole("dialog", { name: "Test order_status" });
  await expect.poll(() => tried.getByLabel("Arguments").inputValue()).toBe('{"order":""}');
  await tried.getByLabel("Arguments").fill("4711");
  await tried.getByRole("button", { name: "Call" }).click();
  await tried.getByText("Write a JSON object").waitFor();
  await tried.getByLabel("Arguments").fill('{"order": "4711"}');
  await tried.getByRole("button", { name: "Call" }).click();
  await tried.getByText("It is on its way.").waitFor();
  await tried.getByRole("button", { name: "Close" }).click();
  await page.getByRole("dialog", { name: "Close this dialog" }).getByRole("button", { name: "Close", exact: true }).last().click();

  await section.getByRole("button", { name: "Edit order_status" }).click();
  const edited = page.getByRole("dialog", { name: "Edit order_status" });
  await expect.poll(() => edited.getByLabel("Value").inputValue()).toBe("");
  expect(await page.content()).not.toContain("the-secret");
  await edited.getByLabel("Description").fill("Says where a parcel is.");
  await edited.getByLabel("Available").selectOption("For verified visitors only");
  // A colleague's tool is kept.
  const other = { ...tool, name: "parcel_status", url: `${site}/parcels/{order}`, headers: {} };
  await workspace.call("PATCH", `/agents/${workspace.agentId}`, { tools: [...(await stored()), other] });
  await edited.getByRole("button", { name: "Save" }).click();
  await edited.waitFor({ state: "detached" });
  const changed = { ...tool, description: "Says where a parcel is.", requires_verified_visitor: true };
  await expect.poll(stored).toMatchObject([changed, { name: "parcel_status" }]);

  await section.getByRole("button", { name: "Delete order_status" }).click();
  await page.getByRole("dialog", { name: "Delete order_status" }).getByRole("button", { name: "Delete" }).click();
  await section.getByText("order_status", { exact: true }).waitFor({ state: "detached" });
  expect((await stored()).map(({ name }) => name)).toEqual(["parcel_status"]);
});

test("what is wrong with a tool is said at its fields", async () => {
  const workspace = await createWorkspace();
  const tool = {
    name: "order_status",
    description: "Says where an order is.",
    parameters: { type: "object", properties: { order: { type: "string", pattern: "^A" } } },
    method: "POST",
    url: "https://api.example.com/orders",
    headers: { Authorization: "Bearer the-secret" },
  };
  await workspace.call("PATCH", `/agents/${workspace.agentId}`, { tools: [tool] });
  const { page, section, stored } = await openTools(workspace);
  await section.getByRole("button", { name: "Edit order_status" }).click();
  const form = page.getByRole("dialog", { name: "Edit order_status" });
  const save = form.getByRole("button", { name: "Save" });
  await form.getByLabel("Name", { exact: true }).first().fill("Order status");
  await form.getByLabel("URL").fill("https://127.0.0.1:8/orders/{order}");
  await form.getByLabel("Fields that are always in the body").fill('{"order": 1}');
  await save.click();
  await expect.poll(() => problemOf(form, "URL")).toContain("{order} is not a required parameter");
  await expect.poll(() => problemOf(form, "Fields that are always in the body")).toContain("is a parameter too");
  await expect
    .poll(() =>
      form
        .getByLabel("Name", { exact: true })
        .first()
        .evaluate((field) => field === document.activeElement),
    )
    .toBe(true);
  await expect.poll(() => form.getByText("Use lower-case letters, digits and _").count()).toBe(1);

  // The parameters have a pattern, which only JSON can show.
  await form.getByLabel("Parameters as JSON Schema").fill("{");
  await save.click();
  await expect.poll(() => problemOf(form, "Parameters as JSON Schema")).toBe("This is not JSON.");
  await form.getByLabel("Parameters as JSON Schema").fill('{"type": "object", "properties": {"order": {"type": "strings"}}}');
  await save.click();
  await expect.poll(() => problemOf(form, "Parameters as JSON Schema")).toContain("properties.order.type: Use one of string");

  // A stored value is sent to the host for which it was stored, and to no other.
  await form.getByLabel("Parameters as JSON Schema").fill('{"type": "object"}');
  await form.getByLabel("Name", { exact: true }).first().fill("order_status");
  await form.getByLabel("URL").fill("https://other.example.com/orders");
  await save.click();
  await expect.poll(() => problemOf(form, "Value")).toContain("No value is stored for this header");
  await form.getByLabel("Value").fill("Bearer another");
  await save.click();
  await form.waitFor({ state: "detached" });
  await expect
    .poll(stored)
    .toMatchObject([{ name: "order_status", url: "https://other.example.com/orders", headers: { Authorization: null } }]);
});

test("an MCP server is added with the tools that the agent may call", async () => {
  const workspace = await createWorkspace();
  const { page, section, stored } = await openTools(workspace);
  await section.getByRole("button", { name: "Add tool" }).click();
  const form = page.getByRole("dialog", { name: "Add tool" });
  await form.getByLabel("Kind").selectOption("The tools of an MCP server");
  await form.getByLabel("Name", { exact: true }).fill("support");
  await form.getByLabel("URL").fill(`${service.url}/mcp`);
  await form.getByLabel("Tools that the agent may call").fill("search\nfind");
  await form.getByRole("button", { name: "Add header" }).click();
  await form.getByRole("group", { name: "Header" }).getByLabel("Name").fill("Authorization");
  await form.getByLabel("Value").fill(`Bearer ${workspace.key}`);
  await form.getByRole("button", { name: "Add tool" }).click();
  await form.getByText("The server does not have find.").waitFor();
  await form.getByLabel("Tools that the agent may call").fill("search");
  await form.getByRole("button", { name: "Add tool" }).click();
  await form.waitFor({ state: "detached" });
  await section.getByText("1 tool").click();
  await section.getByRole("button", { name: "Test support_search" }).waitFor();
  await expect.poll(stored).toMatchObject([{ type: "mcp", name: "support", allowed_tools: ["search"], headers: { Authorization: null } }]);
});
