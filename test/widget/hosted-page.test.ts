import { expect, test } from "vitest";
import { createAgent, createWorkspace, newAddress, operate, send } from "../harness.ts";

const open = (id: string) => send("GET", `/chat/${id}`, { headers: newAddress() });

test("an agent's page has its name and colour, is not listed by search engines, and runs nothing inline", async () => {
  const workspace = await createWorkspace();
  const name = `Ask "Acme" <b>`;
  const settings = { name, welcome_message: "Hi & welcome", description: "internal", appearance: { accent: "#0a7d3f" } };
  const agent = await createAgent(workspace, settings);
  const { status, headers, body } = await open(agent.id);
  expect(status).toBe(200);
  expect(headers.get("Content-Type")).toMatch(/^text\/html/);
  expect(body).toContain("<title>Ask &quot;Acme&quot; &lt;b&gt;</title>");
  expect(body).toContain(`<meta property="og:description" content="Hi &amp; welcome" />`);
  expect(body).toContain(`<meta name="theme-color" content="#0a7d3f" />`);
  expect(body).toContain(`<meta name="robots" content="noindex" />`);
  expect(body).not.toContain("internal");
  expect(body).not.toMatch(/<script(?! src=)|style=|\son\w+=/);
  const policy = headers.get("Content-Security-Policy")!;
  expect(policy).toMatch(/^default-src 'none'; connect-src 'self';.*frame-ancestors 'none'; script-src 'self';/);
  expect(policy).not.toMatch(/unsafe|cloudflare/);
});

test("the agent's settings allow search engines and Turnstile", async () => {
  const workspace = await createWorkspace();
  const turnstile = { site_key: "1x00", secret: "s" };
  const agent = await createAgent(workspace, { hosted_page: { indexed: true }, turnstile });
  const { headers, body } = await open(agent.id);
  expect(body).not.toContain("noindex");
  expect(headers.get("Content-Security-Policy")).toContain("script-src 'self' https://challenges.cloudflare.com");
});

test("there is no page of an agent that has switched it off, or that does not exist", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace, { hosted_page: { enabled: false } });
  for (const id of [agent.id, crypto.randomUUID(), "nobody"]) {
    const { status, headers, body } = await open(id);
    expect([status, headers.get("Content-Type")]).toEqual([404, "text/html; charset=UTF-8"]);
    expect(body).toContain("There is no chat here");
  }
  await operate("PATCH", `/workspaces/${workspace.id}/agents/${agent.id}`, { hosted_page: {} });
  expect((await open(agent.id)).status).toBe(200);
});

test("an address that somebody typed with a slash at its end leads to the page", async () => {
  const agent = await createAgent(await createWorkspace());
  const { status, body } = await open(`${agent.id}/`);
  expect(status).toBe(200);
  expect(body).toContain("<title>");
});

test("a flood from one address is refused before the database is asked", async () => {
  const headers = newAddress();
  const statuses = await Promise.all(Array.from({ length: 601 }, async () => (await send("GET", "/chat/nobody", { headers })).status));
  expect(statuses.filter((status) => status === 404)).toHaveLength(600);
  expect(statuses.filter((status) => status === 429)).toHaveLength(1);
});

test("the page has the language of its address, of the browser or of the agent, whichever the chat speaks first", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace, { language: "fr" });
  const some = await createAgent(workspace, { language: "en", languages: { en: {}, nb: {} } });
  const cases = [
    [agent.id, "", "xx", "fr", "ltr"],
    [agent.id, "", "de-CH, en;q=0.8", "de", "ltr"],
    [agent.id, "", "en;q=0.5, AR-EG", "ar", "rtl"],
    [agent.id, "?lang=pt-BR", "de", "pt", "ltr"],
    [agent.id, "?lang=%22%3E", "de", "de", "ltr"],
    [some.id, "?lang=de", "nn-NO", "nb", "ltr"],
    [some.id, "", "de", "en", "ltr"],
  ] as const;
  for (const [id, query, accepted, language, direction] of cases) {
    const { headers, body } = await send("GET", `/chat/${id}${query}`, { headers: { ...newAddress(), "Accept-Language": accepted } });
    expect(body).toContain(`<html lang="${language}" dir="${direction}">`);
    expect(headers.get("Vary")).toContain("Accept-Language");
  }
});
