import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider } from "oidc-provider";
import type { Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { mailTo, openPage, service, shoot } from "./browser.ts";
import { type ConsoleWorkspace, createWorkspace, findBarriers, signIn } from "./workspace.ts";

const CLIENT = { client_id: "console", client_secret: "the-secret-of-the-console" };

/** Runs a real OpenID Connect provider of a workspace, where everybody has the address that he signs in with. @returns its issuer. */
async function startProvider({ id: workspaceId }: ConsoleWorkspace): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    clients: [{ ...CLIENT, redirect_uris: [`${service.url}/console/sign-in/oidc/callback/${workspaceId}`] }],
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
    pkce: { required: () => true },
    ttl: { AccessToken: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
    findAccount: (_: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, email: id, email_verified: true, name: "Ada Lovelace" }),
    }),
  });
  server.on("request", provider.callback());
  return issuer;
}

async function slugOf(workspace: ConsoleWorkspace): Promise<string> {
  return (await workspace.call<{ workspace: { slug: string } }>("GET", "/me")).workspace.slug;
}

/** Signs in at the provider's own pages, and allows what the service asks for. */
async function signInAtProvider(page: Page, address: string): Promise<void> {
  await page.locator("input[name=login]").fill(address);
  await page.locator("input[name=password]").fill("any");
  await page.getByRole("button", { name: "Sign-in" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
}

test("an owner sets up a provider, and people of the domain join with their company account", async () => {
  const workspace = await createWorkspace();
  const issuer = await startProvider(workspace);
  const slug = await slugOf(workspace);
  const { page: owner } = await openPage();
  await signIn(owner, workspace.key);
  await owner.goto(`${service.url}/console/#/settings/sign-in`);
  const provider = owner.locator("form", { hasText: "Client ID" });
  await provider.getByLabel("Issuer").fill(issuer);
  await provider.getByLabel("Client ID").fill(CLIENT.client_id);
  await provider.getByLabel("Client secret").fill(CLIENT.client_secret);
  // What another form saves does not empty this one.
  const methods = owner.locator("form", { hasText: "Ways to sign in" });
  await methods.getByRole("button", { name: "Save" }).click();
  await owner.getByText("Saved", { exact: true }).waitFor();
  await expect.poll(() => provider.locator("pre").textContent()).toBe(`${service.url}/console/sign-in/oidc/callback/${workspace.id}`);
  await provider.getByRole("button", { name: "Save" }).click();
  await owner.getByText("One is stored.").waitFor();
  const domains = owner.locator("form", { hasText: "Who may join" });
  await domains.getByRole("button", { name: "Add domain" }).click();
  await domains.getByLabel("Domain", { exact: true }).fill("example.com");
  await domains.getByRole("button", { name: "Save" }).click();
  await expect
    .poll(() => workspace.call("GET", "/sign-in"))
    .toMatchObject({ methods: ["oidc", "key"], domains: [{ domain: "example.com", role: "agent" }] });
  expect(await findBarriers(owner)).toEqual([]);

  const { page } = await openPage();
  await page.goto(`${service.url}/console/`);
  await page.getByLabel("Workspace").fill(slug);
  expect(await findBarriers(page)).toEqual([]);
  await page.getByRole("button", { name: "Continue as a member of the team" }).click();
  await page.getByRole("button", { name: "Continue with your company account" }).click();
  await signInAtProvider(page, "ada@example.com");
  await page.getByRole("navigation", { name: "Console" }).waitFor();
  expect(page.url().split("#")[0]).toBe(`${service.url}/console/`);
  const { data } = await workspace.call<{ data: object[] }>("GET", "/members");
  expect(data).toMatchObject([{ email: "ada@example.com", name: "Ada Lovelace", role: "agent", status: "active" }]);

  const { page: stranger } = await openPage();
  await stranger.goto(`${service.url}/console/?workspace=${slug}`);
  await stranger.getByRole("button", { name: "Continue with your company account" }).click();
  await signInAtProvider(stranger, "eve@elsewhere.org");
  await stranger.getByText("This account cannot sign in here.").waitFor();
  expect(await findBarriers(stranger)).toEqual([]);
});

test("a member asks for a link on the sign-in page, and signs in with the one in the mail", async () => {
  const workspace = await createWorkspace();
  const slug = await slugOf(workspace);
  const { page: owner } = await openPage({ viewport: { width: 1440, height: 900 } });
  await signIn(owner, workspace.key);
  await owner.goto(`${service.url}/console/#/settings/sign-in`);
  const methods = owner.locator("form", { hasText: "Ways to sign in" });
  await methods.getByText("Cloudflare Access and links by mail need a configuration by the operator.").waitFor();
  await expect.poll(() => methods.getByLabel("Cloudflare Access").isDisabled()).toBe(true);
  await methods.getByLabel("Link by mail").check();
  await methods.getByRole("button", { name: "Save" }).click();
  await expect.poll(() => workspace.call("GET", "/sign-in")).toMatchObject({ methods: ["mail", "key"] });
  expect(await findBarriers(owner)).toEqual([]);
  await shoot(owner, "settings-1440-light");

  const email = `ada@${slug}.example.com`;
  await workspace.call("POST", "/members", { email, name: "Ada Byron", role: "agent", mail: false });
  const { page } = await openPage({ viewport: { width: 375, height: 720 }, colorScheme: "dark" });
  await page.goto(`${service.url}/console/`);
  await page.getByLabel("Workspace").fill(slug);
  await page.getByLabel("Workspace").press("Enter");
  await page.getByLabel("Email").fill("nobody@example.com");
  await page.getByLabel("Email").press("Enter");
  await page.getByText("If nobody@example.com belongs to the team, a mail is on its way.").waitFor();
  await page.getByLabel("Email").fill(email);
  await page.getByRole("button", { name: "Mail me a link" }).click();
  await page.getByText(`If ${email} belongs to the team, a mail is on its way.`).waitFor();
  expect(await findBarriers(page)).toEqual([]);
  await shoot(page, "asked-375-dark");

  const [link] = /http\S+/.exec(await mailTo(email))!;
  await page.goto(link);
  await page.reload();
  await page.goto(link);
  await page.getByText(`as a member of its team, with the address ${email}`).waitFor();
  await expect.poll(() => page.getByLabel("Your name").inputValue()).toBe("Ada Byron");
  expect(await findBarriers(page)).toEqual([]);
  await shoot(page, "confirm-375-dark");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Console" }).waitFor();

  // The link is used up, and the sign-in page still knows the workspace.
  const { page: later } = await openPage({ viewport: { width: 1440, height: 900 } });
  await later.goto(link);
  await later.getByText("This link has been used or has expired.").waitFor();
  await later.goto(`${service.url}/console/?workspace=${slug}`);
  await later.getByLabel("Email").fill(email);
  await later.getByRole("button", { name: "Mail me a link" }).click();
  await later.getByText("a mail is on its way").waitFor();
  await shoot(later, "asked-1440-light");
  await expect.poll(() => mailTo(email)).not.toContain(link);
  await later.goto(/http\S+/.exec(await mailTo(email))![0]);
  // Who has signed in before is not asked for a name.
  await later.getByText("Continue only if you asked for this link").waitFor();
  expect(await later.getByLabel("Your name").count()).toBe(0);
  await shoot(later, "confirm-1440-light");
  await later.getByRole("button", { name: "Sign in" }).click();
  await later.getByRole("navigation", { name: "Console" }).waitFor();
  const { data } = await workspace.call<{ data: object[] }>("GET", "/members");
  expect(data).toMatchObject([{ name: "Ada Byron", status: "active" }]);
});

test("the sign-in page asks for no key where keys are switched off, and says if a workspace has no provider", async () => {
  const [workspace, other] = [await createWorkspace(), await createWorkspace()];
  const { invitation } = await workspace.call<{ invitation: { url: string } }>("POST", "/members", {
    email: "o@example.com",
    role: "owner",
    mail: false,
  });
  const { page: owner } = await openPage();
  await owner.goto(invitation.url);
  await owner.getByLabel("Your name").fill("Olga Owner");
  await owner.getByRole("button", { name: "Sign in" }).click();
  await owner.getByRole("navigation", { name: "Console" }).waitFor();
  await workspace.call("PATCH", "/sign-in", { methods: ["oidc"], oidc: { issuer: await startProvider(workspace), ...CLIENT } });
  const { page } = await openPage();
  await page.goto(`${service.url}/console/?workspace=${await slugOf(workspace)}`);
  await expect.poll(() => page.getByLabel("API key or operator token").count()).toBe(0);
  await page.getByRole("button", { name: "Change" }).click();
  await page.getByLabel("Workspace").fill(await slugOf(other));
  await page.getByRole("button", { name: "Continue as a member of the team" }).click();
  await page.getByText("This workspace has only keys to sign in with.").waitFor();
  await page.getByLabel("API key or operator token").waitFor();
});
