import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { openPage, send, service } from "./browser.ts";
import { createWorkspace, signIn } from "./workspace.ts";

test("a lead that comes in while later ones are shown pushes none out of the list", async () => {
  const workspace = await createWorkspace();
  const leave = (number: number) =>
    send("POST", `/widget/v1/agents/${workspace.agentId}/leads`, "none", { name: `Visitor ${number}.`, email: `v${number}@example.com` });
  for (let number = 0; number < 5; number++) await leave(number);
  const { page } = await openPage();
  // Pages of three: an address may leave few leads a minute.
  await page.route("**/api/v1/leads*", (route) => {
    const url = new URL(route.request().url());
    url.searchParams.set("limit", "3");
    return route.continue({ url: url.href });
  });
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/leads`);
  for (const number of [4, 2, 0]) await page.getByRole("cell", { name: `Visitor ${number}.` }).waitFor();
  await leave(5);
  await page.getByRole("cell", { name: "Visitor 5." }).waitFor();
  await expect.poll(() => page.getByRole("row").count()).toBe(1 + 6);
  await page.getByRole("cell", { name: "Visitor 2." }).waitFor();
});

test("a search shows no error of the list before it", async () => {
  const workspace = await createWorkspace();
  for (const name of ["Ada", "Alan", "Grace"])
    await send("POST", `/widget/v1/agents/${workspace.agentId}/leads`, "none", { name, email: `${name}@example.com` });
  const { page } = await openPage();
  await page.route("**/api/v1/leads*", (route) => {
    const url = new URL(route.request().url());
    if (url.searchParams.has("offset") || url.searchParams.has("cursor")) return route.abort();
    url.searchParams.set("limit", "2");
    return route.continue({ url: url.href });
  });
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/leads`);
  const retry = page.getByRole("button", { name: "Try again" });
  await retry.waitFor();
  await page.getByLabel("Search leads").fill("Ada");
  await page.getByRole("cell", { name: "Grace", exact: true }).waitFor({ state: "detached" });
  await page.getByRole("cell", { name: "Ada", exact: true }).waitFor();
  expect(await retry.count()).toBe(0);
});

test("leads are exported as one file, whose parts are read one after the other", async () => {
  const workspace = await createWorkspace();
  const body = { name: "Ada", email: "ada@example.com" };
  await fetch(`${service.url}/widget/v1/agents/${workspace.agentId}/leads`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const { page } = await openPage();
  // A stand-in for a list of several parts, where the rate limit refuses the second one at first.
  const asked: (string | null)[] = [];
  await page.route("**/api/v1/leads?*", async (route) => {
    if (route.request().headers()["accept"] !== "text/csv") return route.continue();
    const cursor = new URL(route.request().url()).searchParams.get("cursor");
    asked.push(cursor);
    if (asked.length === 2)
      return route.fulfill({ status: 429, headers: { "Retry-After": "1" }, json: { error: { code: "rate_limited" } } });
    const headers = { "Content-Type": "text/csv", ...(cursor === null && { "X-Next-Cursor": "second" }) };
    return route.fulfill({ headers, body: cursor === null ? "name\r\nAda\r\n" : "Grace\r\n" });
  });
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/leads`);
  await page.getByRole("cell", { name: "Ada", exact: true }).waitFor();
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export CSV" }).click()]);
  expect(await readFile(await file.path(), "utf8")).toBe("name\r\nAda\r\nGrace\r\n");
  expect(asked).toEqual([null, "second", "second"]);
});

test("the latest visitors are listed once each, and one click finds what is stored about one", async () => {
  const workspace = await createWorkspace();
  for (const message of ["Who am I?", "Where am I?"]) {
    const user = { id: "ada", name: "Ada Lovelace" };
    await workspace.call("POST", `/agents/${workspace.agentId}/messages`, { message, user });
  }
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/people`);
  const row = page.getByRole("region", { name: "Latest visitors" }).getByRole("row", { name: /Ada Lovelace/ });
  const found = page.getByRole("region", { name: "Found" });
  const hasFocus = () => found.evaluate((element) => element === document.activeElement);
  await row.getByRole("button", { name: "Look up Ada Lovelace" }).click();
  await expect.poll(() => row.count()).toBe(1);
  await found.getByRole("heading", { name: "api:ada" }).waitFor();
  // The list may be long, and what is found is above it.
  await expect.poll(hasFocus).toBe(true);
  await page.getByLabel("Email", { exact: true }).fill("nobody@example.com");
  await page.getByRole("button", { name: "Find" }).click();
  await found.getByText("Nothing is stored about this person").waitFor();
  await expect.poll(hasFocus).toBe(true);
});
