import { expect, test } from "vitest";
import { send } from "../harness.ts";

test("the page", async () => {
  const { status, body } = await send("GET", "/docs/viewer.js");
  expect(status).toBe(200);
  expect(body).toContain("SwaggerUIBundle({");
});
