import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider } from "oidc-provider";
import type { Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { openPage, service } from "./browser.ts";
import { type ConsoleWorkspace, createWorkspace, findBarriers, signIn } from "./workspace.ts";

const CLIENT = { client_id: "console", client_secret: "the-secret-of-the-console" };

/** Runs a real OpenID Connect provider, where everybody has the address that he signs in with. @returns its issuer. */
async function startProvider(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    clients: [{ ...CLIENT, redirect_uris: [`${service.url}/console/sign-in/oidc/callback`] }],
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
  const [workspace, issuer] = [await createWorkspace(), await startProvider()];
  const slug = await slugOf(workspace);
  const { page: owner } = await openPage();
  await signIn(owner, workspace.key);
  await owner.goto(`${service.url}/console/#/settings/sign-in`);
  const provider = owner.locator("form", { hasText: "Client ID" });
  await provider.getByLabel("Issuer").fill(issuer);
  await provider.getByLabel("Client ID").fill(CLIENT.client_id);
  await provider.getByLabel("Client secret").fill(CLIENT.client_secret);
  await expect.poll(() => provider.locator("pre").textContent()).toBe(`${service.url}/console/sign-in/oidc/callback`);
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

test("the sign-in page asks for no key where keys are switched off, and says if a workspace has no provider", async () => {
  const [workspace, other] = [await createWorkspace(), await createWorkspace()];
  const { invitation } = await workspace.call<{ invitation: { url: string } }>("POST", "/members", {
    email: "o@example.com",
    role: "owner",
  });
  const { page: owner } = await openPage();
  await owner.goto(invitation.url);
  await owner.getByLabel("Your name").fill("Olga Owner");
  await owner.getByRole("button", { name: "Sign in" }).click();
  await owner.getByRole("navigation", { name: "Console" }).waitFor();
  await workspace.call("PATCH", "/sign-in", { methods: ["oidc"], oidc: { issuer: await startProvider(), ...CLIENT } });
  const { page } = await openPage();
  await page.goto(`${service.url}/console/?workspace=${await slugOf(workspace)}`);
  await expect.poll(() => page.getByLabel("API key or operator token").count()).toBe(0);
  await page.getByLabel("Workspace").fill(await slugOf(other));
  await page.getByRole("button", { name: "Continue with your company account" }).click();
  await page.getByText("This workspace has no company account.").waitFor();
  await page.getByLabel("API key or operator token").waitFor();
});
