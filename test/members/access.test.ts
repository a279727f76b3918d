import { env } from "cloudflare:workers";
import { exportJWK, exportSPKI, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from "jose";
import { expect, test, vi } from "vitest";
import { createWorkspace, type Workspace } from "../harness.ts";
import { behaveAt, receivedBy } from "../outbound.ts";
import { Visitor } from "./provider.ts";
import { invite } from "./team.ts";

const AUDIENCE = "0f".repeat(32);
const ADA = { email: "ada@example.com" };

let teams = 0;

interface Key {
  id: string;
  publicKey: CryptoKey;
  privateKey: CryptoKey;
}

async function newKey(id: string): Promise<Key> {
  return { id, ...(await generateKeyPair("RS256", { extractable: true })) };
}

/** The keys of a team of Cloudflare Access that the service trusts. */
class Team {
  private constructor(
    readonly host: string,
    readonly key: Key,
  ) {}

  static async start(): Promise<Team> {
    const team = new Team(`team-${++teams}.cloudflareaccess.com`, await newKey("1"));
    Object.assign(env, { ACCESS_TEAM_DOMAIN: team.host, ACCESS_AUD: AUDIENCE });
    await team.publish(team.key);
    return team;
  }

  /** Sets the keys that the team publishes. */
  async publish(...keys: Key[]): Promise<void> {
    const jwks = await Promise.all(
      keys.map(async ({ id, publicKey }) => ({ ...(await exportJWK(publicKey)), kid: id, alg: "RS256", use: "sig" })),
    );
    await behaveAt(`${this.host}/cdn-cgi/access/certs`, {
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ keys: jwks, public_cert: {}, public_certs: [] }),
    });
  }

  /** The claims of a valid token, with changes. */
  claims(changes: JWTPayload = {}): JWTPayload {
    const nowSeconds = Math.floor(Date.now() / 1000);
    const valid = { iss: `https://${this.host}`, aud: [AUDIENCE], sub: "u-1", type: "app", iat: nowSeconds, nbf: nowSeconds };
    return { ...valid, exp: nowSeconds + 600, ...changes };
  }

  sign(changes: JWTPayload = {}, { id, privateKey }: Pick<Key, "id" | "privateKey"> = this.key): Promise<string> {
    return new SignJWT(this.claims(changes)).setProtectedHeader({ alg: "RS256", kid: id }).sign(privateKey);
  }
}

async function useAccess(workspace: Workspace, more: object = {}): Promise<string> {
  const { status } = await workspace.call("PATCH", "/sign-in", { methods: ["access", "key"], ...more });
  expect(status).toBe(200);
  return (await workspace.call("GET", "/me")).body.workspace.slug;
}

/** Comes to the service through Access, as the sign-in page leaves for it. @param token that Access adds. */
async function comeWith(slug: string, token: string | undefined, visitor = new Visitor()) {
  visitor.cookies.set("__Host-console-access", slug);
  const headers = token === undefined ? {} : { "Cf-Access-Jwt-Assertion": token };
  const { status, location } = await visitor.open(`/console/sign-in/access?workspace=${slug}`, "cross-site", headers);
  expect(status).toBe(303);
  return { visitor, end: `${location?.pathname}${location?.search}${location?.hash}`, session: await visitor.session() };
}

test("a member signs in through Cloudflare Access, and people of a domain in the list join", async () => {
  const team = await Team.start();
  const workspace = await createWorkspace();
  const slug = await useAccess(workspace, { domains: [{ domain: "joins.example", role: "viewer" }] });
  const { body: invited } = await invite(workspace, "agent", { ...ADA, name: "Ada" });
  const { end, session, visitor } = await comeWith(slug, await team.sign({ email: "Ada@Example.com" }));
  expect([end, session.member]).toEqual(["/console/", { id: invited.id, name: "Ada", email: ADA.email, role: "agent" }]);
  expect(visitor.cookies.has("__Host-console-access")).toBe(false);
  const joined = await comeWith(slug, await team.sign({ email: "bob@joins.example" }));
  expect(joined.session.member).toMatchObject({ name: "bob", role: "viewer" });
  const { body: audit } = await workspace.call("GET", "/audit?action=member.signed_in");
  expect(audit.data.map(({ detail }: any) => detail.method)).toEqual(["access", "access"]);
  const { body: sessions } = await workspace.call("GET", `/members/${invited.id}/sessions`);
  expect(sessions.data.map(({ method }: any) => method)).toEqual(["access"]);
  // The keys are loaded once.
  expect((await receivedBy(team.host)).length).toBe(1);

  const refused = `/console/?workspace=${slug}#problem=refused`;
  for (const email of ["eve@example.com", "eve@sub.joins.example", "a@b@joins.example", "@joins.example"])
    expect((await comeWith(slug, await team.sign({ email }))).end, email).toBe(refused);
  await workspace.call("DELETE", `/members/${joined.session.member.id}`);
  expect((await comeWith(slug, await team.sign({ email: "bob@joins.example" }))).end).toBe(refused);
});

test("a token that is not of this application, not valid now, or not signed by the team signs nobody in", async () => {
  const [other, team] = [await Team.start(), await Team.start()];
  const workspace = await createWorkspace();
  const slug = await useAccess(workspace);
  await invite(workspace, "owner", ADA);
  const nowSeconds = Math.floor(Date.now() / 1000);
  const stranger = await newKey("1");
  const secret = new TextEncoder().encode(await exportSPKI(team.key.publicKey));
  const valid = await team.sign(ADA);
  const [header, payload, signature] = valid.split(".") as [string, string, string];
  const altered = btoa(JSON.stringify(team.claims({ email: "boss@example.com" }))).replaceAll("=", "");
  const tokens: Record<string, string | undefined> = {
    "no token": undefined,
    "an empty one": "",
    "no JWT": "ada@example.com",
    "another audience": await team.sign({ ...ADA, aud: ["1e".repeat(32)] }),
    "no audience": await team.sign({ ...ADA, aud: [] }),
    "another issuer": await team.sign({ ...ADA, iss: "https://evil.cloudflareaccess.com" }),
    "another team": await other.sign(ADA),
    "another team's key": await team.sign(ADA, other.key),
    "a stranger's key with a known id": await team.sign(ADA, stranger),
    "an unknown key": await team.sign(ADA, { ...stranger, id: "2" }),
    expired: await team.sign({ ...ADA, exp: nowSeconds - 60 }),
    "not valid yet": await team.sign({ ...ADA, nbf: nowSeconds + 120 }),
    "no expiry": await team.sign({ ...ADA, exp: undefined as never }),
    "alg none": new UnsecuredJWT(team.claims(ADA)).encode(),
    "HS256 with the public key": await new SignJWT(team.claims(ADA)).setProtectedHeader({ alg: "HS256", kid: "1" }).sign(secret),
    "altered claims": `${header}.${altered}.${signature}`,
    "no signature": `${header}.${payload}.`,
    "a service": await team.sign({ common_name: "service.access" }),
    "an empty address": await team.sign({ email: "" }),
    "no text": await team.sign({ email: { toString: "ada@example.com" } }),
  };
  for (const [name, token] of Object.entries(tokens)) {
    const { end, session } = await comeWith(slug, token);
    expect([end, session], name).toEqual([`/console/?workspace=${slug}#problem=access`, undefined]);
  }
  expect((await comeWith(slug, valid)).end).toBe("/console/");
});

test("the team's keys are loaded again when they are rotated, and seldom otherwise", async () => {
  const team = await Team.start();
  const slug = await useAccess(await createWorkspaceWithAda());
  expect((await comeWith(slug, await team.sign(ADA))).end).toBe("/console/");
  const next = await newKey("2");
  await team.publish(team.key, next);
  const token = await team.sign(ADA, next);
  for (let tried = 0; tried < 5; tried++) await comeWith(slug, token);
  expect((await receivedBy(team.host)).length).toBe(1);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 11_000 });
  expect((await comeWith(slug, token)).end).toBe("/console/");
  // A key that was retired is accepted for ten minutes at most.
  await team.publish(next);
  vi.setSystemTime(Date.now() + 11 * 60_000);
  expect((await comeWith(slug, await team.sign(ADA))).end).toContain("#problem=access");
  vi.useRealTimers();
});

async function createWorkspaceWithAda(): Promise<Workspace> {
  const workspace = await createWorkspace();
  await invite(workspace, "agent", ADA);
  return workspace;
}

test("only the sign-in page begins a sign-in, for its own workspace, and the workspace has to allow it", async () => {
  const team = await Team.start();
  const [workspace, evil] = [await createWorkspaceWithAda(), await createWorkspaceWithAda()];
  const [slug, evilSlug] = [await useAccess(workspace), await useAccess(evil)];
  const headers = { "Cf-Access-Jwt-Assertion": await team.sign(ADA) };
  const visitor = new Visitor();
  // Another site sends the browser to a workspace of its own.
  for (const site of ["cross-site", "same-site", "none", "same-origin"]) {
    const { location } = await visitor.open(`/console/sign-in/access?workspace=${evilSlug}`, site, headers);
    expect(location?.href).toBe(`https://service.test/console/?workspace=${evilSlug}`);
  }
  visitor.cookies.set("__Host-console-access", slug);
  const { location } = await visitor.open(`/console/sign-in/access?workspace=${evilSlug}`, "cross-site", headers);
  expect(location?.search).toBe(`?workspace=${evilSlug}`);
  const hostile = await visitor.open("/console/sign-in/access?workspace=//evil.example.com", "cross-site", headers);
  expect(hostile.location?.href).toBe("https://service.test/console/");
  expect(await visitor.session()).toBeUndefined();

  await workspace.call("PATCH", "/sign-in", { methods: ["key"] });
  expect((await comeWith(slug, headers["Cf-Access-Jwt-Assertion"])).end).toBe(`/console/?workspace=${slug}#problem=off`);
  expect((await comeWith("no-such-workspace", headers["Cf-Access-Jwt-Assertion"])).end).toContain("#problem=off");
  Object.assign(env, { ACCESS_TEAM_DOMAIN: "", ACCESS_AUD: "" });
  expect((await comeWith(evilSlug, headers["Cf-Access-Jwt-Assertion"])).end).toBe(`/console/?workspace=${evilSlug}#problem=off`);
});

test("Access does not sign in where its keys cannot be loaded", async () => {
  const team = await Team.start();
  const slug = await useAccess(await createWorkspaceWithAda());
  const json = { headers: { "Content-Type": "application/json" } };
  for (const behaviour of [
    { status: 500 },
    { ...json, body: "<html>" },
    { ...json, body: " ".repeat(1_024), times: 1_024 },
    { status: 302, headers: { Location: "https://evil.example.com/keys" } },
  ]) {
    await behaveAt(`${team.host}/cdn-cgi/access/certs`, behaviour);
    expect((await comeWith(slug, await team.sign(ADA))).end).toContain("#problem=access");
  }
  expect((await receivedBy("evil.example.com")).filter(({ place }) => place.endsWith("/keys"))).toEqual([]);
});
