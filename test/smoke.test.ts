import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
it("migrates", async () => {
  const r = await env.DB_1.prepare("SELECT count(*) n FROM sqlite_master WHERE type='trigger'").first();
  expect(r).toEqual({ n: 10 });
});
