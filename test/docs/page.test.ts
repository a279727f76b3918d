import { expect, test } from "vitest";
import { send } from "../harness.ts";

test("the page loads only files of the service, and has no inline script", async () => {
  const { status, headers, body } = await send("GET", "/docs");
  expect(status).toBe(200);
  expect(headers.get("Content-Security-Policy")).toContain("script-src 'self';");
  expect(body).not.toMatch(/<script(?! src=)|\son\w+=/);
  const files = [...String(body).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file]) => file!);
  expect(files).toContain("/docs/viewer.js");
  for (const file of files) expect(file).toMatch(/^\/docs\//);
});

test("the viewer shows a tab for each sample", async () => {
  const { headers, body } = await send("GET", "/docs/viewer.js");
  expect(headers.get("Content-Type")).toBe("text/javascript; charset=utf-8");
  expect(body).toContain("x-codeSamples");
  expect(body).toContain(`url: "/api/v1/openapi.json"`);
});

test("an API key that is entered in the viewer is not stored, and one that was stored before is removed", async () => {
  const { body } = await send("GET", "/docs/viewer.js");
  expect(body).toContain("persistAuthorization: false");
  expect(body).toContain(`localStorage.removeItem("authorized")`);
});

test("the viewer follows the system's dark mode with the class of its style sheet", async () => {
  const { body } = await send("GET", "/docs/viewer.js");
  expect(body).toContain(`matchMedia("(prefers-color-scheme: dark)")`);
  const [, dark] = /classList\.toggle\("([\w-]+)"/.exec(String(body))!;
  expect(dark).toBe("dark-mode");
});
