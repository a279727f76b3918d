import { expect, test } from "vitest";
import { openPage, service } from "./browser.ts";
import { createWorkspace, signIn } from "./workspace.ts";

test("scripts are served to every website, with the headers that strict pages ask for, and hashed ones are kept", async () => {
  const loader = await fetch(`${service.url}/widget.js`);
  expect(loader.status).toBe(200);
  expect(loader.headers.get("Content-Type")).toMatch(/javascript/);
  expect(loader.headers.get("Cache-Control")).toContain("max-age=300");
  const [, folder] = /"(\/assets\/widget-\w+\/)"/.exec(await loader.text()) ?? [];
  const panel = await fetch(`${service.url}${folder}panel.js`);
  expect(panel.headers.get("Cache-Control")).toContain("immutable");
  for (const { headers } of [loader, panel]) {
    expect(headers.get("Access-Control-Allow-Origin")).toBe("*");
    expect(headers.get("Cross-Origin-Resource-Policy")).toBe("cross-origin");
    expect(headers.get("X-Content-Type-Options")).toBe("nosniff");
  }
});

test("a page of the console whose code a deployment has removed is there after a reload", async () => {
  const workspace = await createWorkspace();
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.route(/\/members-\w+\.js$/, (route) => route.fulfill({ status: 404 }));
  await page.goto(`${service.url}/console/#/settings/members`);
  await page.getByText("Reload the page.").waitFor();
  await page.unroute(/\/members-\w+\.js$/);
  await page.getByRole("button", { name: "Reload" }).click();
  await page.getByText("No members yet").waitFor();
  // Its tabs have code of their own.
  await page.getByRole("link", { name: "Teams" }).click();
  await page.getByText("No teams yet").waitFor();
});

test("the API reference is shown under its strict policy", async () => {
  const { page, errors } = await openPage();
  await page.goto(`${service.url}/docs`);
  await page.getByRole("heading", { name: "Support Agent Service", exact: false }).first().waitFor();
  expect(errors).toEqual([]);
});
