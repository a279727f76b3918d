/* Starts the documentation viewer. The three APIs and the guides are documents of their own, with a common search. */
/* global Scalar */

/** A question that the demo agent can answer from the guides. */
const QUESTION = "How are webhooks signed?";

const SOURCES = [
  { title: "API", slug: "api", url: "/api/v1/openapi.json", default: true, authentication: { preferredSecurityScheme: "apiKey" } },
  { title: "Guides", slug: "guides", url: "/docs/guides.json" },
  { title: "Visitors' API", slug: "visitors", url: "/widget/v1/openapi.json" },
  { title: "Operators' API", slug: "operators", url: "/operator/v1/openapi.json" },
];

/** The API key in the link that `npm run dev` prints. Browsers never send the part after #, and it is removed from the address bar. */
const KEY_LINK = /^#key=([\w-]+)$/;
const key = KEY_LINK.exec(location.hash)?.[1];
if (key) {
  history.replaceState(null, "", location.pathname);
  SOURCES[0].authentication.securitySchemes = { apiKey: { token: key } };
}

const read = async (url) => (await fetch(url)).json();

/** Fills in the id of the demo agent and a question, so that the first request gets an answer. */
function prefill(document, { agent_id }) {
  if (!agent_id) return document;
  for (const operations of Object.values(document.paths ?? {})) {
    for (const { parameters = [] } of Object.values(operations)) {
      for (const { name, schema } of parameters) if (name === "agent_id" && schema) schema.example = agent_id;
    }
  }
  const question = document.components?.schemas?.ChatIn;
  if (question) question.example = { ...question.example, message: QUESTION };
  return document;
}

async function start() {
  const [demo, ...documents] = await Promise.all([read("/docs/demo.json"), ...SOURCES.map(({ url }) => read(url))]);

  Scalar.createApiReference("#viewer", {
    sources: SOURCES.map((source, at) => ({ ...source, url: undefined, content: prefill(documents[at], demo) })),
    // An API key stays in memory only, until the page is closed.
    persistAuth: false,
    baseServerURL: location.origin,
    // Nothing is loaded from, or sent to, other hosts.
    withDefaultFonts: false,
    telemetry: false,
    agent: { disabled: true },
    mcp: { disabled: true },
    hideClientButton: true,
    showDeveloperTools: "never",
    documentDownloadType: "direct",
    defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
    theme: "default",
    customCss: ":root { --scalar-font: system-ui, sans-serif; --scalar-font-code: ui-monospace, monospace }",
  });
}

void start();
