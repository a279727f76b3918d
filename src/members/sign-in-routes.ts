import { createRoute, z } from "@hono/zod-openapi";
import { CONSOLE_METHODS, type ConsoleMethod, MEMBER_ROLES } from "../platform/db/columns.ts";
import { jsonBody } from "../platform/http/body.ts";
import type { AppContext } from "../platform/http/context.ts";
import { ApiError, invalid } from "../platform/http/errors.ts";
import { timestamp, toTimestampOrNull } from "../platform/http/fields.ts";
import { requirePublicHost } from "../platform/http/public-host.ts";
import { errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { addProblem, valueError, valueErrorParams } from "../platform/http/validation.ts";
import { needsScope, operationOf, requireGrantable } from "../workspaces/checks.ts";
import { scopesOfRole } from "../workspaces/scopes.ts";
import { findSignInSettings } from "../workspaces/store.ts";
import { callbackUrl, changeSignIn, DEFAULT_METHODS, supportedMethods } from "./sign-in-settings.ts";
import type { SignInRow } from "./sign-in-store.ts";

export const signInRoutes = createRouter("Members");

const MAX_DOMAINS = 20;
const MAX_URL_LENGTH = 500;
const MAX_SECRET_LENGTH = 500;
/** Printable ASCII characters, which a form and a header carry unchanged. */
const PRINTABLE = /^[\x21-\x7e]+$/;
const DOMAIN = /^(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$/;
/** The issuers of Microsoft for accounts of any organization: an address in their tokens may belong to somebody else. */
const SHARED_ISSUER = /^https:\/\/login\.microsoftonline\.[a-z]+\/(?:common|organizations|consumers)(?:\/|$)/i;

const methods = z
  .array(z.enum(CONSOLE_METHODS))
  .min(1)
  .max(CONSOLE_METHODS.length)
  .refine((given) => new Set(given).size === given.length, valueErrorParams("name each method once"))
  .meta({
    description:
      "How people sign in to the console: with an account of the provider (`oidc`), through Cloudflare Access (`access`), with a link in a mail (`mail`), or with an API key (`key`). Links of invitations always work.",
  });

const printable = (maxLength: number) =>
  z
    .string()
    .min(1)
    .max(maxLength)
    .refine((text) => PRINTABLE.test(text), valueErrorParams("use no spaces, and only ASCII characters"));

const issuer = z
  .string()
  .min(1)
  .max(MAX_URL_LENGTH)
  .superRefine((url, ctx) => {
    const hasMore = URL.canParse(url) && (new URL(url).search !== "" || new URL(url).hash !== "");
    addProblem(ctx, hasMore ? "write the issuer without a query or fragment" : undefined);
    addProblem(ctx, SHARED_ISSUER.test(url) ? "write the issuer of your own tenant, with its id instead of common" : undefined);
  })
  .meta({ description: "The provider's issuer, as its discovery document states it.", example: "https://accounts.google.com" });

const clientId = printable(MAX_SECRET_LENGTH).meta({ description: "The id of this service's client at the provider.", example: "console" });

const role = z
  .enum(MEMBER_ROLES)
  .exclude(["owner", "custom"])
  .meta({ description: "The role of those who join. Owners are only invited." });

const domainSchema = z.object({
  domain: z
    .string()
    .toLowerCase()
    .refine((text) => DOMAIN.test(text), valueErrorParams("write a domain such as example.com"))
    .meta({ description: "The domain of the email address, without its subdomains.", example: "example.com" }),
  role,
});

const domains = z
  .array(domainSchema)
  .max(MAX_DOMAINS)
  .refine((list) => new Set(list.map(({ domain }) => domain)).size === list.length, valueErrorParams("name each domain once"))
  .meta({ description: "Who joins by signing in with a verified email address, without an invitation." });

const signInSchema = z
  .object({
    methods,
    oidc: z
      .object({
        issuer: z.string().meta({ description: "The provider's issuer.", example: "https://accounts.google.com" }),
        client_id: z.string().meta({ description: "The id of this service's client at the provider.", example: "console" }),
        has_client_secret: z.boolean().meta({ description: "Whether a secret of the client is stored. It is never shown." }),
      })
      .nullable()
      .meta({ description: "The OpenID Connect provider; null if there is none." }),
    domains,
    redirect_url: z.string().meta({
      description: "The redirect URL to register at the provider.",
      example: "https://support.example.com/console/sign-in/oidc/callback/019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00",
    }),
    available_methods: z.array(z.enum(CONSOLE_METHODS)).meta({
      description: "The methods that can be allowed. `access` and `mail` need a configuration by the operator.",
    }),
    updated_at: timestamp().nullable().meta({ description: "When the settings were changed last; null if they never were." }),
  })
  .openapi("SignInSettings");

const updateSchema = z
  .object({
    methods,
    oidc: z
      .object({
        issuer,
        client_id: clientId,
        client_secret: printable(MAX_SECRET_LENGTH).nullable().optional().meta({
          description:
            "The secret of the client. If it is left out, the stored one stays, unless issuer or client_id change. Null for a public client.",
        }),
      })
      .nullable()
      .meta({ description: "The OpenID Connect provider; null removes it. Only owners change it." }),
    domains,
  })
  .partial()
  .openapi("SignInSettingsUpdate", {
    description: "Fields that are left out stay unchanged.",
    example: { domains: [{ domain: "example.com", role: "agent" }] },
  });

const getRoute = createRoute({
  operationId: "getSignInSettings",
  method: "get",
  path: "/sign-in",
  summary: "Get how people sign in to the console",
  ...needsScope("members:write"),
  responses: { 200: jsonResponse(signInSchema, "The settings."), ...errorResponses(403) },
});

signInRoutes.openapi(getRoute, async (c) => c.json(toSignIn(c, await readSettings(c)), 200));

const updateRoute = createRoute({
  operationId: "updateSignInSettings",
  method: "patch",
  path: "/sign-in",
  summary: "Change how people sign in to the console",
  description:
    "Only owners, and keys that the operator made with the scope `*`, change the provider: whoever runs it can sign in as any member. A domain gives at most a role whose scopes you have. `key` can be left out once an owner has signed in; API keys then work in the API only. With another issuer or client_id, members are found by their email addresses again.",
  ...needsScope("members:write"),
  request: { body: jsonBody(updateSchema) },
  responses: { 200: jsonResponse(signInSchema, "The changed settings."), ...errorResponses(403, 409, 422) },
});

signInRoutes.openapi(updateRoute, async (c) => {
  const changes = c.req.valid("json");
  const { oidc } = changes;
  requireSupported(c, changes.methods ?? []);
  if (oidc !== undefined && !c.get("caller").key.isOwner)
    throw new ApiError("insufficient_scope", "Only owners change the provider. Ask one of them, or leave oidc out.");
  for (const { role: given } of changes.domains ?? []) requireGrantable(c, scopesOfRole(given, []));
  if (oidc) await requirePublicHost(c, oidc.issuer, ["oidc", "issuer"], ISSUER_REFUSALS);
  const changed = await changeSignIn(operationOf(c), await readSettings(c), changes);
  if (changed.outcome === "done") return c.json(toSignIn(c, changed.settings), 200);
  throw new ApiError("conflict", REFUSALS[changed.outcome]);
});

const ISSUER_REFUSALS = {
  refused: (reason: string) => `use another issuer: ${reason}`,
  unchecked: (reason: string) => `The issuer was not checked: ${reason}. Try again.`,
};

const REFUSALS = {
  changed_meanwhile: "The settings were changed at the same time. Try again.",
  needs_owner: "Without keys nobody could sign in. Invite an owner, who signs in first.",
  needs_provider: "The method oidc needs a provider. Send oidc as well, or leave the method out.",
} as const;

async function readSettings(c: AppContext): Promise<SignInRow | undefined> {
  const { db, workspaceId } = operationOf(c);
  const [[settings]] = await db.batch([findSignInSettings(db, workspaceId)]);
  return settings;
}

/** Checks that the deployment supports the methods. @throws ApiError validation_error. */
function requireSupported(c: AppContext, given: readonly ConsoleMethod[]): void {
  const supported = supportedMethods(c.env);
  const items = given.flatMap((method, at) => {
    if (supported.includes(method)) return [];
    const problem = `leave ${method} out: this deployment does not have it. Its operator sets ${VARIABLES[method]}`;
    return [{ loc: ["body", "methods", at], ...valueError(problem), input: method }];
  });
  if (items.length > 0) throw invalid(items);
}

const VARIABLES: Partial<Record<ConsoleMethod, string>> = { access: "ACCESS_TEAM_DOMAIN and ACCESS_AUD", mail: "MAIL_FROM" };

function toSignIn(c: AppContext, row: SignInRow | undefined): z.infer<typeof signInSchema> {
  const { oidcIssuer = null, oidcClientId = null, oidcClientSecret = null } = row ?? {};
  return {
    methods: (row?.methods as ConsoleMethod[] | undefined) ?? [...DEFAULT_METHODS],
    oidc: oidcIssuer === null ? null : { issuer: oidcIssuer, client_id: oidcClientId ?? "", has_client_secret: oidcClientSecret !== null },
    domains: (row?.domains ?? []) as z.infer<typeof domains>,
    redirect_url: callbackUrl(c.req.url, operationOf(c).workspaceId),
    available_methods: supportedMethods(c.env),
    updated_at: toTimestampOrNull(row?.updatedAt ?? null),
  };
}
