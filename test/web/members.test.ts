import type { BrowserContextOptions, Page } from "playwright-core";
import { expect, test } from "vitest";
import { mailTo, openPage, service } from "./browser.ts";
import { type ConsoleWorkspace, createWorkspace, findBarriers, signIn } from "./workspace.ts";

const NARROW = { width: 375, height: 720 };

interface Invited {
  id: string;
  invitation: { url: string };
}

function invite(workspace: ConsoleWorkspace, email: string, name: string, role: string): Promise<Invited> {
  return workspace.call<Invited>("POST", "/members", { email, name, role, mail: false });
}

/** Signs in with the link of an invitation. */
async function accept(url: string, options?: BrowserContextOptions) {
  const opened = await openPage(options);
  await opened.page.goto(url);
  await opened.page.getByRole("button", { name: "Sign in" }).click();
  await opened.page.getByRole("navigation", { name: "Console" }).waitFor();
  return opened;
}

async function openSettings(page: Page, path: "members" | "audit") {
  await page.goto(`${service.url}/console/#/settings/${path}`);
  return page.getByRole("region", { name: path === "audit" ? "Audit log" : "Members" }).getByRole("table");
}

test("a member is invited, joins, replies with an own name, and is signed out at once when removed", async () => {
  const workspace = await createWorkspace();
  const { page: owner } = await openPage({ viewport: { width: 1440, height: 900 } });
  await signIn(owner, workspace.key);
  await owner.goto(`${service.url}/console/#/settings/members`);
  await owner.getByText("No members yet").waitFor();
  await owner.getByRole("button", { name: "Invite" }).click();
  const form = owner.getByRole("dialog", { name: "Invite to the team" });
  await form.getByLabel("Email").fill("ada@example.com");
  await form.getByLabel("Name").fill("Ada Byron");
  await form.getByLabel("Role").selectOption("custom");
  await form.getByRole("button", { name: "Invite" }).click();
  await form.getByText("Choose at least one.").waitFor();
  expect(await findBarriers(owner)).toEqual([]);
  await form.getByLabel("Role").selectOption("agent");
  await form.getByRole("button", { name: "Invite" }).click();
  const link = owner.getByRole("dialog", { name: "Invitation of Ada Byron" });
  await link.getByText("The invitation was sent to ada@example.com.").waitFor();
  expect(await mailTo("ada@example.com")).toContain("You are invited to the team of");
  await link.getByRole("button", { name: "Make a link to pass on" }).click();
  const url = await link.locator("pre").innerText();
  await link.getByRole("button", { name: "Done" }).click();

  const { page: ada } = await openPage({ viewport: NARROW });
  await ada.goto(url);
  await ada.getByText("as a member of its team, with the address ada@example.com").waitFor();
  await expect.poll(() => ada.getByLabel("Your name").inputValue()).toBe("Ada Byron");
  await ada.getByLabel("Your name").fill("Ada Lovelace");
  await ada.getByRole("button", { name: "Sign in" }).click();
  await ada.getByRole("navigation", { name: "Console" }).waitFor();

  const id = await workspace.ask("Where is my order?", "Charles");
  await ada.goto(`${service.url}/console/#/inbox/${id}`);
  await ada.getByLabel("Reply").fill("It arrives today.");
  await ada.getByRole("button", { name: "Send", exact: true }).click();
  await ada.getByRole("log", { name: "Messages" }).getByText("Ada Lovelace").waitFor();

  // The owner assigns it by name.
  await owner.goto(`${service.url}/console/#/inbox/${id}`);
  await owner.getByLabel("Assigned to").selectOption({ label: "Ada Lovelace" });
  await ada.getByRole("button", { name: "Back to the list" }).click();
  await ada.getByRole("button", { name: "Mine" }).click();
  await ada.getByRole("button", { name: /Charles/ }).waitFor();
  await ada.getByRole("button", { name: "More" }).click();
  await ada.locator("#more").getByLabel("Your availability").selectOption("away");
  await expect.poll(() => workspace.call("GET", "/members")).toMatchObject({ data: [{ name: "Ada Lovelace", availability: "away" }] });

  const table = await openSettings(owner, "members");
  await table.getByText("Away").waitFor();
  await table.getByRole("button", { name: "Ada Lovelace" }).click();
  const dialog = owner.getByRole("dialog", { name: "Ada Lovelace" });
  await dialog.getByText("with an invitation").waitFor();
  expect(await findBarriers(owner)).toEqual([]);
  await dialog.getByRole("button", { name: "Remove from the team …" }).click();
  await owner.getByRole("dialog", { name: "Remove Ada Lovelace" }).getByRole("button", { name: "Remove", exact: true }).click();
  await ada.getByRole("dialog", { name: "Your session has ended" }).waitFor();
  await owner.getByText("No members yet").waitFor();
  await expect.poll(() => workspace.call("GET", `/conversations/${id}`)).toMatchObject({ assignee: null });
});

test("the page of a removed member asks for a sign-in when its socket closes, before it sends a request", async () => {
  const workspace = await createWorkspace();
  const { id, invitation } = await invite(workspace, "ada@example.com", "Ada Lovelace", "agent");
  const { page } = await openPage();
  const closed: string[] = [];
  await page.exposeFunction("socketClosed", (reason: string) => closed.push(reason));
  await page.addInitScript(() => {
    const Socket = WebSocket;
    window.WebSocket = class extends Socket {
      constructor(url: string | URL) {
        super(url);
        this.addEventListener("close", ({ reason }) => (window as never as { socketClosed(text: string): void }).socketClosed(reason));
      }
    };
  });
  const socket = page.waitForEvent("websocket");
  await page.goto(invitation.url);
  await page.getByRole("button", { name: "Sign in" }).click();
  await (await socket).waitForEvent("framesent");
  await page.getByRole("navigation", { name: "Console" }).waitFor();
  // From now on no request is answered.
  const asked: string[] = [];
  await page.route("**/*", (route) => void asked.push(route.request().url()));
  await workspace.call("DELETE", `/members/${id}`);
  await page.getByRole("dialog", { name: "Your session has ended" }).waitFor();
  await expect.poll(() => closed).toEqual(["The session has ended."]);
  expect(asked.filter((url) => url.endsWith("/api/v1/me"))).toEqual([]);
});

test("an admin manages everybody but owners, who end the admin's session", async () => {
  const workspace = await createWorkspace();
  await invite(workspace, "olga@example.com", "Olga Owner", "owner");
  const { id, invitation } = await invite(workspace, "grace@example.com", "Grace Hopper", "admin");
  const { page } = await accept(invitation.url, { viewport: NARROW });
  await page.getByRole("button", { name: "More" }).click();
  for (const name of ["Leads", "People", "Webhooks", "Settings"]) await page.locator("#more").getByRole("link", { name }).waitFor();
  // The inbox below has a use for Escape as well. In a new workspace, the first steps hide its list.
  await page.locator(".conversation-list").waitFor({ state: "attached" });
  await page.keyboard.press("Escape");
  await page.locator("#more").waitFor({ state: "hidden" });

  const table = await openSettings(page, "members");
  await table.getByText("Olga Owner").waitFor();
  await expect.poll(() => table.getByRole("button").allTextContents()).toEqual(["Grace Hopper (you)"]);
  await page.getByRole("button", { name: "Invite" }).click();
  const roles = page.getByRole("dialog", { name: "Invite to the team" }).getByLabel("Role");
  await expect.poll(() => roles.getByRole("option").allTextContents()).toEqual(["Admin", "Agent", "Viewer", "Custom"]);
  await page.keyboard.press("Escape");
  await page.getByLabel("Your name").fill("Grace Brewster Hopper");
  await page.getByRole("button", { name: "Save" }).click();
  await table.getByText("Olga Owner").waitFor();
  expect(await findBarriers(page)).toEqual([]);

  await table.getByRole("button").click();
  const dialog = page.getByRole("dialog", { name: /^Grace/ });
  await dialog.getByText("This session").waitFor();
  expect(await dialog.getByRole("button", { name: /^End/ }).count()).toBe(0);
  await expect.poll(() => workspace.call("GET", `/members/${id}`)).toMatchObject({ name: "Grace Brewster Hopper" });

  const { page: owner } = await openPage();
  await signIn(owner, workspace.key);
  const members = await openSettings(owner, "members");
  await members.getByRole("button", { name: "Grace Brewster Hopper" }).click();
  await owner.getByRole("button", { name: /^End the session of Chrome/ }).click();
  await page.getByRole("dialog", { name: "Your session has ended" }).waitFor();
  await owner.getByText("Nowhere.").waitFor();
});

test("the audit log says who changed what, is filtered, and is exported", async () => {
  const workspace = await createWorkspace();
  const { invitation } = await invite(workspace, "grace@example.com", "Grace Hopper", "owner");
  const { page } = await accept(invitation.url);
  await page.evaluate(
    (path) =>
      fetch(path, {
        method: "PATCH",
        headers: { "Content-Type": "application/json", "X-Support-Agent-Console": "1" },
        body: JSON.stringify({ instructions: "Be brief.", confidence_threshold: 0.7 }),
      }),
    `/api/v1/agents/${workspace.agentId}`,
  );
  const table = await openSettings(page, "audit");
  await table.getByText("Grace Hopper changed the agent Acme agent: instructions, confidence threshold").waitFor();
  await table.getByText("Grace Hopper signed in with an invitation").waitFor();
  await table.getByText("Key “Team” invited the member Grace Hopper as owner").waitFor();
  await page.getByLabel("Who").selectOption({ label: "Key “Team”" });
  await expect.poll(() => table.getByRole("row").count()).toBe(2);
  await page.getByLabel("Action").selectOption("key.revoked");
  await page.getByText("No entry matches these filters.").waitFor();
  await page.getByLabel("Action").selectOption("");
  expect(await findBarriers(page)).toEqual([]);
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export CSV" }).click();
  expect((await download).suggestedFilename()).toBe("audit.csv");
  await page.goto(`${service.url}/console/#/settings/agents/${workspace.agentId}/versions`);
  await page.getByRole("region", { name: "History" }).getByText("Grace Hopper, ").waitFor();
});
