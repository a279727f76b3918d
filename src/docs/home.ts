import { Hono } from "hono";
import { accepts } from "hono/accepts";
import { html, raw } from "hono/html";
import { findAgentBySlug } from "../agents/store.ts";
import { findSlug } from "../operator/store.ts";
import { isConfigured, isProduction } from "../platform/config.ts";
import { directoryDb, newOperation } from "../platform/db/client.ts";
import type { AppContext, AppEnv } from "../platform/http/context.ts";

/** The health check, and the home page with the state of the service and its links, as HTML or JSON. */
export const homeRoutes = new Hono<AppEnv>();

homeRoutes.get("/healthz", async (c) => {
  if (c.req.query("deep") === undefined) return c.json({ status: "ok" });
  const { answerDeepHealth } = await import("./deep-health.ts");
  return answerDeepHealth(c);
});

homeRoutes.get("/", async (c) => {
  const type = accepts(c, { header: "Accept", supports: ["text/html", "application/json"], default: "application/json" });
  c.header("Vary", "Accept");
  const demoAgentId = await findDemoAgent(c);
  if (type === "application/json") return c.json(summaryOf(c, demoAgentId));
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(STYLE));
  const style = `style-src 'sha256-${new Uint8Array(digest).toBase64()}'`;
  c.header(
    "Content-Security-Policy",
    `default-src 'none'; ${style}; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  );
  return c.html(pageOf(c, demoAgentId));
});

/** The workspace and the agent that `npm run dev` creates for trying the service. */
const DEMO = { workspace: "demo", agent: "demo-agent" };

/** The id of the demo agent on a developer's machine; undefined if there is none. */
export async function findDemoAgent(c: AppContext): Promise<string | undefined> {
  if (isProduction(c.env) || !isConfigured(c.env)) return undefined;
  const directory = directoryDb(c.env, c.get("meter"));
  const [[workspace]] = await directory.batch([findSlug(directory, DEMO.workspace)]);
  if (!workspace) return undefined;
  const { db, workspaceId } = newOperation(c.env, c.get("meter"), workspace.workspaceId);
  const [[agent]] = await db.batch([findAgentBySlug(db, workspaceId, DEMO.agent)]);
  return agent?.id;
}

const NAME = "Support Agent Service";
const APIS = ["/api/v1", "/widget/v1", "/operator/v1"];
const statusOf = (c: AppContext) => (isConfigured(c.env) ? "ok" : "not_configured");

function summaryOf(c: AppContext, demoAgentId: string | undefined) {
  return {
    name: NAME,
    version: "1.0.0",
    status: statusOf(c),
    docs: "/docs",
    openapi: Object.fromEntries(APIS.map((root) => [root, `${root}/openapi.json`])),
    console: "/console",
    health: "/healthz",
    ...(demoAgentId && { chat: `/chat/${demoAgentId}` }),
  };
}

const STYLE = `
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; color: light-dark(#1a1a1f, #ececf1); background: light-dark(#fff, #131316) }
  body { max-width: 40rem; margin: 0 auto; padding: 12vh 20px 40px }
  h1 { font-size: 28px; line-height: 1.2; margin: 0 0 12px }
  p { margin: 0 0 12px; color: light-dark(#55555f, #a9a9b4) }
  ul { list-style: none; margin: 28px 0 0; padding: 0; border-top: 1px solid light-dark(#e4e4ea, #2b2b31) }
  a { display: block; padding: 14px 4px; color: inherit; text-decoration: none; border-bottom: 1px solid light-dark(#e4e4ea, #2b2b31) }
  a:hover, a:focus-visible { background: light-dark(#f5f5f8, #1c1c21) }
  a:focus-visible { outline: 2px solid light-dark(#3538cd, #a4acff); outline-offset: -2px }
  b { display: block; font-weight: 600 }
  span { color: light-dark(#55555f, #a9a9b4); font-size: 14px }
  .ok { color: light-dark(#05683f, #6bd6a3) } .bad { color: light-dark(#a5281b, #ff9d8f) }
`;

function pageOf(c: AppContext, demoAgentId: string | undefined) {
  const isOk = statusOf(c) === "ok";
  const links = [
    ["/docs", "Documentation", "The reference of every operation, which you can try there, and the guides"],
    ["/console", "Console", "The place where a team replies, teaches its agents and reads the analytics"],
    ...(demoAgentId ? [[`/chat/${demoAgentId}`, "Demo chat", "Ask an agent that knows this documentation"]] : []),
    ["/healthz", "Health", "The health check for monitors"],
  ];
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${NAME}</title>
        <link rel="icon" href="/icon.svg" />
        ${raw(`<style>${STYLE}</style>`)}
      </head>
      <body>
        <main>
          <h1>${NAME}</h1>
          <p>AI support agents behind a REST API: they answer from your knowledge, and hand over to a human when they are not sure.</p>
          <p class="${isOk ? "ok" : "bad"}">
            ${isOk ? "The service is running." : "The service is not configured yet: its log names what is missing."}
          </p>
          <ul>
            ${links.map(
              ([href, title, what]) =>
                html`<li>
                  <a href="${href}"><b>${title}</b><span>${what}</span></a>
                </li>`,
            )}
          </ul>
        </main>
      </body>
    </html>`;
}
