import { exports } from "cloudflare:workers";
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import { newAddress, type Workspace } from "../harness.ts";
import { behaveAt, newHost } from "../outbound.ts";

const ORIGIN = "https://service.test";
export const CLIENT = { client_id: "console", client_secret: "secret-of-the-client" };

/** An OpenID Connect provider that answers as a test says. */
export interface Provider {
  host: string;
  issuer: string;
  publicKey: CryptoKey;
  /** Sets the ID token that the token endpoint gives for the next code. */
  gives(token: string): Promise<void>;
  /** Signs claims; those of a valid token are filled in. */
  sign(claims: JWTPayload, header?: { alg: string; key: CryptoKey | Uint8Array }): Promise<string>;
}

/** Starts a provider. @param metadata further fields of its discovery document. */
export async function startProvider(metadata: Record<string, unknown> = {}): Promise<Provider> {
  const host = newHost();
  const issuer = `https://${host}`;
  const { publicKey, privateKey } = await generateKeyPair("RS256", { extractable: true });
  const json = { headers: { "Content-Type": "application/json" } };
  await behaveAt(`${host}/.well-known/openid-configuration`, {
    ...json,
    body: JSON.stringify({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      ...metadata,
    }),
  });
  const jwk = { ...(await exportJWK(publicKey)), kid: "1", alg: "RS256", use: "sig" };
  await behaveAt(`${host}/jwks`, { ...json, body: JSON.stringify({ keys: [jwk] }) });
  return {
    host,
    issuer,
    publicKey,
    gives: (token) =>
      behaveAt(`${host}/token`, { ...json, body: JSON.stringify({ access_token: "a", token_type: "Bearer", id_token: token }) }),
    sign: (claims, { alg, key } = { alg: "RS256", key: privateKey }) => {
      const nowSeconds = Math.floor(Date.now() / 1000);
      const filled = { iss: issuer, aud: CLIENT.client_id, sub: "ada", iat: nowSeconds, exp: nowSeconds + 300, ...claims };
      return new SignJWT(filled).setProtectedHeader({ alg, kid: "1" }).sign(key);
    },
  };
}

/** Lets a workspace sign in with a provider. @returns its slug. */
export async function useProvider(workspace: Workspace, { issuer }: { issuer: string }, more: object = {}): Promise<string> {
  const { status, body } = await workspace.call("PATCH", "/sign-in", { methods: ["oidc", "key"], oidc: { issuer, ...CLIENT }, ...more });
  if (status !== 200) throw new Error(`The settings were refused: ${JSON.stringify(body)}`);
  return (await workspace.call("GET", "/me")).body.workspace.slug;
}

/** A browser that follows no redirects by itself, and keeps cookies. */
export class Visitor {
  readonly cookies = new Map<string, string>();
  private readonly address = newAddress();

  /** Opens an address. @param site where the browser comes from, as `Sec-Fetch-Site` says. */
  async open(
    path: string,
    site = "same-origin",
    more: Record<string, string> = {},
  ): Promise<{ status: number; location: URL | undefined; body: string; set: string[] }> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = { ...this.address, "Sec-Fetch-Site": site, "X-Support-Agent-Console": "1", ...(cookie && { Cookie: cookie }), ...more };
    const response = await exports.default.fetch(new Request(ORIGIN + path, { headers, redirect: "manual" }));
    const set = response.headers.getSetCookie();
    for (const line of set) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (line.includes("Max-Age=0")) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    const location = response.headers.get("Location");
    return {
      status: response.status,
      location: location === null ? undefined : new URL(location, ORIGIN),
      body: await response.text(),
      set,
    };
  }

  /** Begins a sign-in. @returns the address at the provider. */
  async begin(slug: string): Promise<URL> {
    return (await this.open(`/console/sign-in/oidc?workspace=${slug}`)).location!;
  }

  /** Comes back from the provider. */
  async comeBack(at: URL, parameters: Record<string, string> = {}) {
    const query = new URLSearchParams({ code: "c", state: at.searchParams.get("state")!, ...parameters });
    return this.open(`${new URL(at.searchParams.get("redirect_uri")!).pathname}?${query.toString()}`, "cross-site");
  }

  /** The session of the console; undefined if nobody is signed in. */
  async session(): Promise<any> {
    const { status, body } = await this.open("/console/session");
    return status === 200 ? JSON.parse(body) : undefined;
  }
}

/** Signs in with an account. @param claims of the ID token. @returns where the browser ends, and what it has. */
export async function signInWith(provider: Provider, slug: string, claims: JWTPayload, visitor = new Visitor()) {
  const at = await visitor.begin(slug);
  await provider.gives(await provider.sign({ nonce: at.searchParams.get("nonce")!, ...claims }));
  const { location } = await visitor.comeBack(at);
  return { visitor, end: `${location?.pathname}${location?.search}${location?.hash}`, session: await visitor.session() };
}
