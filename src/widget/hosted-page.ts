import { Hono } from "hono";
import { html } from "hono/html";
import { parseAccept } from "hono/utils/accept";
import { trimTrailingSlash } from "hono/trailing-slash";
import { findAgentWithPlan } from "../agents/store.ts";
import { chooseLanguage, directionOf, WIDGET_LANGUAGES, type WidgetLanguage } from "../agents/widget-texts.ts";
import { toWidgetSettings } from "../agents/widget-wire.ts";
import type { AgentRow } from "../agents/wire.ts";
import { welcomeMessageOf } from "../agents/messages.ts";
import { isMapped } from "../platform/db/bindings.ts";
import { dbFor } from "../platform/db/client.ts";
import { checking } from "../platform/http/checks.ts";
import type { AppContext, AppEnv } from "../platform/http/context.ts";
import { uuid } from "../platform/http/fields.ts";
import { requireConfig } from "../workspaces/checks.ts";
import { limitAddress } from "./rate-limit.ts";

/** Browsers cache the page for a minute. Changed settings are shown within this time. */
const CACHE_CONTROL = "public, max-age=60";
const TURNSTILE = "https://challenges.cloudflare.com";

/** The page of an agent, which shows only the chat that websites embed. */
export const hostedPageRoutes = new Hono<AppEnv>();

hostedPageRoutes.use(checking(requireConfig), trimTrailingSlash());

hostedPageRoutes.get("/:agent_id", async (c) => {
  const agent = await findHostedAgent(c);
  c.header("Cache-Control", CACHE_CONTROL);
  c.header("Content-Security-Policy", policyFor(agent));
  c.header("Vary", "Accept-Language");
  return agent ? c.html(pageOf(agent, languageFor(c, agent), c.req.url)) : c.html(MISSING_PAGE, 404);
});

/** The language of the page: that of `?lang=`, otherwise of the browser, otherwise of the agent. */
function languageFor(c: AppContext, { language, languages }: AgentRow): WidgetLanguage {
  const accepted = parseAccept(c.req.header("Accept-Language") ?? "").map(({ type }) => type);
  const wanted = [c.req.query("lang") ?? "", ...accepted, language].map((tag) => tag.toLowerCase());
  return chooseLanguage(wanted, languages, WIDGET_LANGUAGES);
}

/** Finds the agent of the path, if it has a page. */
async function findHostedAgent(c: AppContext): Promise<AgentRow | undefined> {
  limitAddress(c);
  const agentId = uuid().safeParse(c.req.param("agent_id")).data;
  if (agentId === undefined || !isMapped(c.env, agentId)) return undefined;
  const db = dbFor(c.env, agentId, c.get("meter"));
  const [[agent]] = await db.batch([findAgentWithPlan(db, agentId)]);
  return agent && toWidgetSettings(agent).hosted_page.enabled ? agent : undefined;
}

/** Allows the page to connect only to this service and, if the agent requires it, to Turnstile. */
function policyFor(agent: AgentRow | undefined): string {
  const own = [
    "default-src 'none'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  const scripts = agent?.turnstileSiteKey
    ? [`script-src 'self' ${TURNSTILE}`, `frame-src ${TURNSTILE}`]
    : ["script-src 'self'", "require-trusted-types-for 'script'", "trusted-types 'none'"];
  return [...own, ...scripts].join("; ");
}

function pageOf(agent: AgentRow, language: WidgetLanguage, url: string) {
  const { appearance, hosted_page: page } = toWidgetSettings(agent);
  // The agent's own description is for the team, so it is not used here.
  const description = welcomeMessageOf(agent);
  return html`<!doctype html>
    <html lang="${language}" dir="${directionOf(language)}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1, interactive-widget=resizes-content" />
        <title>${agent.name}</title>
        <meta name="description" content="${description}" />
        ${page.indexed ? "" : html`<meta name="robots" content="noindex" />`}
        <meta name="theme-color" content="${appearance.accent}" />
        <meta name="color-scheme" content="${appearance.theme === "auto" ? "light dark" : appearance.theme}" />
        <meta property="og:type" content="website" />
        <meta property="og:title" content="${agent.name}" />
        <meta property="og:description" content="${description}" />
        <meta property="og:url" content="${url.split("?")[0]}" />
        <link rel="icon" href="data:," />
        <script src="/widget.js" async></script>
      </head>
      <body>
        <support-agent agent="${agent.id}" page></support-agent>
        <noscript>This chat needs JavaScript.</noscript>
      </body>
    </html>`;
}

const MISSING_PAGE = html`<!doctype html>
  <html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="robots" content="noindex" />
      <meta name="color-scheme" content="light dark" />
      <title>Not found</title>
    </head>
    <body>
      <h1>There is no chat here</h1>
      <p>Check the address, or ask whoever gave it to you.</p>
    </body>
  </html>`;
