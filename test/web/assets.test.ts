import { expect, test } from "vitest";
import { openPage, service } from "./browser.ts";

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

test("the API reference is shown under its strict policy", async () => {
  const { page, errors } = await openPage();
  await page.goto(`${service.url}/docs`);
  await page.getByRole("heading", { name: "Support Agent Service", exact: false }).first().waitFor();
  expect(errors).toEqual([]);
});
