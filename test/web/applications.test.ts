import { Client, type OAuthClientProvider, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { openPage, service, shoot } from "./browser.ts";
import { createWorkspace, findBarriers } from "./workspace.ts";

/** An application on this machine, as the official client's interface wants it. Its page at the redirect address keeps what it gets. */
class Assistant implements OAuthClientProvider {
  readonly kept: { client?: any; tokens?: any; verifier?: string; address?: URL } = {};
  readonly received: URLSearchParams[] = [];

  readonly redirectUrl: string;
  private readonly name: string;

  constructor(redirectUrl: string, name: string) {
    this.redirectUrl = redirectUrl;
    this.name = name;
  }

  get clientMetadata() {
    return { client_name: this.name, redirect_uris: [this.redirectUrl], token_endpoint_auth_method: "none" };
  }

  clientInformation = () => this.kept.client;
  saveClientInformation = (client: unknown) => void (this.kept.client = client);
  tokens = () => this.kept.tokens;
  saveTokens = (tokens: unknown) => void (this.kept.tokens = tokens);
  redirectToAuthorization = (address: URL) => void (this.kept.address = address);
  saveCodeVerifier = (verifier: string) => void (this.kept.verifier = verifier);
  codeVerifier = () => this.kept.verifier!;

  /** Connects with what it has. @param parameters what the browser brought back. */
  async connect(parameters?: URLSearchParams): Promise<Client> {
    const transport = () => new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`), { authProvider: this });
    if (parameters) await transport().finishAuth(parameters);
    const client = new Client({ name: this.name, version: "1.0.0" });
    await client.connect(transport());
    onTestFinished(() => client.close());
    return client;
  }
}

async function startAssistant(name: string): Promise<Assistant> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const assistant = new Assistant(`http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`, name);
  server.on("request", ({ url = "" }, response) => {
    if (url.startsWith("/callback")) assistant.received.push(new URL(url, assistant.redirectUrl).searchParams);
    response.end("<title>Assistant</title>You may close this page.");
  });
  return assistant;
}

test("an application connects by the address alone: the person signs in, allows it, and disconnects it in Settings", async () => {
  const workspace = await createWorkspace();
  const invited = await workspace.call<{ invitation: { url: string } }>("POST", "/members", {
    email: "grace@example.com",
    role: "owner",
    mail: false,
  });
  const assistant = await startAssistant("<b>Assistant</b>");
  await expect(assistant.connect()).rejects.toThrow(UnauthorizedError);

  const { page, errors } = await openPage({ viewport: { width: 1440, height: 900 } });
  await page.goto(assistant.kept.address!.href);
  await page.getByText("An application wants to be connected.").waitFor();
  // The invitation is opened in the same tab, as the sign-in at a provider is.
  await page.goto("about:blank");
  await page.goto(invited.invitation.url);
  await page.getByLabel("Your name").fill("Grace Hopper");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Connect <b>Assistant</b>?" }).waitFor();
  await page.getByText("a program on this computer (127.0.0.1)").waitFor();
  await shoot(page, "consent-1440-light");
  expect(await findBarriers(page)).toEqual([]);
  await page.setViewportSize({ width: 375, height: 812 });
  await page.emulateMedia({ colorScheme: "dark" });
  await shoot(page, "consent-375-dark");
  expect(await findBarriers(page)).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(375);

  for (const name of ["Reply to customers", "Add answers", "Ask an agent"]) await page.getByLabel(name).uncheck();
  await page.getByRole("button", { name: "Allow" }).click();
  await page.getByText("You may close this page.").waitFor();
  const client = await assistant.connect(assistant.received[0]);
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toContain("list_conversations");
  expect(tools.map(({ name }) => name)).not.toContain("reply_to_conversation");
  // An access token that is refused is refreshed, without a question.
  assistant.kept.tokens = { ...assistant.kept.tokens, access_token: "st_live_other" };
  await assistant.connect();

  await page.setViewportSize({ width: 1440, height: 900 });
  await page.emulateMedia({ colorScheme: "light" });
  await page.goto("about:blank");
  await page.goto(`${service.url}/console/#/settings/members`);
  await page.getByRole("button", { name: "Grace Hopper (you)" }).click();
  const connected = page.getByRole("region", { name: "Connected applications" });
  await connected.getByText("127.0.0.1").waitFor();
  await shoot(page, "applications-1440-light");
  expect(await findBarriers(page)).toEqual([]);
  await connected.getByRole("button", { name: "Disconnect <b>Assistant</b>" }).click();
  await connected.getByText("None.").waitFor();
  await expect(client.listTools()).rejects.toThrow();
  expect(errors.filter((error) => !error.includes("401"))).toEqual([]);

  const other = await startAssistant("Other");
  await expect(other.connect()).rejects.toThrow(UnauthorizedError);
  await page.goto(other.kept.address!.href);
  await page.getByRole("button", { name: "Deny" }).click();
  await expect.poll(() => other.received.map((received) => received.get("error"))).toEqual(["access_denied"]);
});
