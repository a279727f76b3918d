import { exportSPKI } from "jose";
import { expect, test } from "vitest";
import { createWorkspace } from "../harness.ts";
import { behaveAt, newHost, receivedBy } from "../outbound.ts";
import { CLIENT, signInWith, startProvider, useProvider, Visitor } from "./provider.ts";
import { invite, join } from "./team.ts";

const ADA = { email: "ada@example.com", email_verified: true };

test("an invited member signs in with the account of the provider, which is bound to the member from then on", async () => {
  const [workspace, provider] = [await createWorkspace(), await startProvider()];
  const slug = await useProvider(workspace, provider);
  const { body: invited } = await invite(workspace, "agent", { email: ADA.email, name: "Ada" });
  const visitor = new Visitor();
  const at = await visitor.begin(slug);
  expect(at.origin + at.pathname).toBe(`${provider.issuer}/authorize`);
  expect(Object.fromEntries(at.searchParams)).toMatchObject({
    client_id: "console",
    redirect_uri: `https://service.test/console/sign-in/oidc/callback/${workspace.id}`,
    response_type: "code",
    scope: "openid email profile",
    code_challenge_method: "S256",
  });
  await provider.gives(await provider.sign({ nonce: at.searchParams.get("nonce")!, ...ADA, email: "Ada@Example.com" }));
  const back = await visitor.comeBack(at);
  expect([back.status, back.location?.href]).toEqual([303, "https://service.test/console/"]);
  expect(back.set[1]).toMatch(/^__Host-console=.*; Path=\/; HttpOnly; Secure; SameSite=Strict$/);
  expect((await visitor.session()).member).toMatchObject({ id: invited.id, name: "Ada", role: "agent" });
  const token = (await receivedBy(provider.host)).find(({ place }) => place.endsWith("/token"))!;
  expect(new TextDecoder().decode(token.body)).toContain("code_verifier=");
  expect(token.headers["authorization"]).toBe(`Basic ${btoa(`${CLIENT.client_id}:${CLIENT.client_secret.replaceAll("-", "%2D")}`)}`);

  // The account counts, whatever address it has later; another account with the address does not.
  expect((await signInWith(provider, slug, { email: "new@example.com" })).session.member.id).toBe(invited.id);
  expect((await signInWith(provider, slug, { ...ADA, sub: "eve" })).end).toBe(`/console/?workspace=${slug}#problem=refused`);
  const { body: sessions } = await workspace.call("GET", `/members/${invited.id}/sessions`);
  expect(sessions.data.map(({ method }: any) => method)).toEqual(["oidc", "oidc"]);
  const { body: audit } = await workspace.call("GET", "/audit?action=member.signed_in");
  expect(audit.data[0]).toMatchObject({ target_id: invited.id, detail: { method: "oidc" } });
});

test("people of a domain in the list join with its role, and nobody else does", async () => {
  const [workspace, provider] = [await createWorkspace({ limits: { members: 2 } }), await startProvider()];
  const slug = await useProvider(workspace, provider, { domains: [{ domain: "example.com", role: "viewer" }] });
  const refused = `/console/?workspace=${slug}#problem=refused`;
  for (const claims of [
    { email: "ada@example.com", email_verified: false },
    { email: "ada@example.com" },
    { email: "ada@sub.example.com", email_verified: true },
    { email: "ada@example.com.evil.org", email_verified: true },
    { email: "a@b@example.com", email_verified: true },
    { email: "no-address", email_verified: true },
    {},
  ]) {
    const { end, session } = await signInWith(provider, slug, claims);
    expect([end, session], JSON.stringify(claims)).toEqual([refused, undefined]);
  }
  const joined = await signInWith(provider, slug, { ...ADA, name: "Ada\nLovelace" });
  expect(joined.end).toBe("/console/");
  expect(joined.session.member).toMatchObject({ name: "Ada Lovelace", email: "ada@example.com", role: "viewer" });
  const { body: audit } = await workspace.call("GET", "/audit?action=member.joined");
  expect(audit.data).toMatchObject([{ actor: { id: joined.session.member.id }, detail: { role: "viewer" } }]);
  expect((await signInWith(provider, slug, { email: "bob@example.com", email_verified: true, sub: "bob" })).end).toBe("/console/");
  expect((await signInWith(provider, slug, { email: "eve@example.com", email_verified: true, sub: "eve" })).end).toBe(refused);
});

test("a member who was removed needs an invitation, though the domain is in the list", async () => {
  const [workspace, provider] = [await createWorkspace(), await startProvider()];
  const slug = await useProvider(workspace, provider, { domains: [{ domain: "example.com", role: "viewer" }] });
  const { session, visitor } = await signInWith(provider, slug, ADA);
  await workspace.call("DELETE", `/members/${session.member.id}`);
  expect(await visitor.session()).toBeUndefined();
  expect((await signInWith(provider, slug, ADA)).end).toBe(`/console/?workspace=${slug}#problem=refused`);
  await invite(workspace, "agent", { email: ADA.email });
  expect((await signInWith(provider, slug, ADA)).session.member).toMatchObject({ id: session.member.id, role: "agent" });
});

test("the address is read from the endpoint that states it, if the token has none", async () => {
  const host = newHost();
  const [workspace, provider] = [await createWorkspace(), await startProvider({ userinfo_endpoint: `https://${host}/me` })];
  const slug = await useProvider(workspace, provider);
  await invite(workspace, "agent", { email: ADA.email });
  const json = { headers: { "Content-Type": "application/json" } };
  await behaveAt(`${host}/me`, { ...json, body: JSON.stringify({ sub: "eve", ...ADA }) });
  expect((await signInWith(provider, slug, {})).end).toContain("#problem=provider");
  await behaveAt(`${host}/me`, { ...json, body: JSON.stringify({ sub: "ada", ...ADA }) });
  expect((await signInWith(provider, slug, {})).session.member.email).toBe(ADA.email);
});

test("with another provider, members are found by their addresses again", async () => {
  const [workspace, first, second] = [await createWorkspace(), await startProvider(), await startProvider()];
  const slug = await useProvider(workspace, first);
  const { body: invited } = await invite(workspace, "agent", { email: ADA.email });
  expect((await signInWith(first, slug, ADA)).end).toBe("/console/");
  const visitor = new Visitor();
  const at = await visitor.begin(slug);
  await first.gives(await first.sign({ nonce: at.searchParams.get("nonce")!, ...ADA }));
  await useProvider(workspace, second);
  // A sign-in that began at the first provider ends nowhere.
  expect((await visitor.comeBack(at)).location?.hash).toBe("#problem=provider");
  expect((await signInWith(second, slug, { ...ADA, sub: "other" })).session.member.id).toBe(invited.id);
});

test("a state works once, in the browser that began, and for its own workspace", async () => {
  const [workspace, other] = [await createWorkspace(), await createWorkspace()];
  const [provider, others] = [await startProvider(), await startProvider()];
  const [slug, otherSlug] = [await useProvider(workspace, provider), await useProvider(other, others)];
  await invite(workspace, "agent", { email: ADA.email });
  await invite(other, "owner", { email: ADA.email });
  const visitor = new Visitor();
  const at = await visitor.begin(slug);
  await provider.gives(await provider.sign({ nonce: at.searchParams.get("nonce")!, ...ADA }));
  const expired = "https://service.test/console/#problem=expired";

  const victim = new Visitor();
  expect((await victim.comeBack(at)).location?.href).toBe(expired);
  await victim.begin(slug);
  expect((await victim.comeBack(at)).location?.href).toBe(expired);
  expect(await victim.session()).toBeUndefined();

  const cookies = new Map(visitor.cookies);
  expect((await visitor.comeBack(at)).location?.href).toBe("https://service.test/console/");
  expect(visitor.cookies.has("__Host-console-oidc")).toBe(false);
  const copy = new Visitor();
  for (const [name, value] of cookies) copy.cookies.set(name, value);
  expect((await copy.comeBack(at)).location?.href).toBe(expired);

  // A code and token of one workspace's provider, in a sign-in to another workspace.
  const mixed = await visitor.begin(otherSlug);
  await others.gives(await provider.sign({ nonce: mixed.searchParams.get("nonce")!, ...ADA }));
  expect((await visitor.comeBack(mixed)).location?.hash).toBe("#problem=provider");
  const named = await visitor.begin(otherSlug);
  await others.gives(await others.sign({ nonce: named.searchParams.get("nonce")!, ...ADA }));
  expect((await visitor.comeBack(named, { iss: provider.issuer })).location?.hash).toBe("#problem=provider");
});

test("a code that comes back to the address of another workspace reaches no provider", async () => {
  const [workspace, evil] = [await createWorkspace(), await createWorkspace()];
  const [provider, evilProvider] = [await startProvider(), await startProvider()];
  const slug = await useProvider(workspace, provider);
  // The provider of one workspace sends a person on to that of the other, which returns him to the address of its own workspace.
  const evilSlug = await useProvider(evil, evilProvider);
  const [visitor, attacker] = [new Visitor(), new Visitor()];
  const at = await visitor.begin(evilSlug);
  const forwarded = await attacker.begin(slug);
  forwarded.searchParams.set("state", at.searchParams.get("state")!);
  expect((await visitor.comeBack(forwarded)).location?.href).toBe("https://service.test/console/#problem=expired");
  expect(await visitor.session()).toBeUndefined();
  for (const { host } of [provider, evilProvider])
    expect((await receivedBy(host)).filter(({ place }) => place.endsWith("/token"))).toEqual([]);
});

test("a provider that states its issuer in the callback always has to", async () => {
  const [workspace, provider] = [await createWorkspace(), await startProvider({ authorization_response_iss_parameter_supported: true })];
  const slug = await useProvider(workspace, provider);
  await invite(workspace, "agent", { email: ADA.email });
  for (const [iss, end] of [
    [undefined, "#problem=provider"],
    ["https://evil.example.com", "#problem=provider"],
    [provider.issuer, ""],
  ] as const) {
    const visitor = new Visitor();
    const at = await visitor.begin(slug);
    await provider.gives(await provider.sign({ nonce: at.searchParams.get("nonce")!, ...ADA }));
    expect((await visitor.comeBack(at, iss ? { iss } : {})).location?.hash).toBe(end);
  }
});

test("a token that is not as it must be signs nobody in", async () => {
  const [workspace, provider, evil] = [await createWorkspace(), await startProvider(), await startProvider()];
  const slug = await useProvider(workspace, provider);
  await invite(workspace, "owner", { email: ADA.email });
  const past = Math.floor(Date.now() / 1000) - 3_600;
  const base64 = (value: object) => btoa(JSON.stringify(value)).replaceAll("=", "");
  const publicText = new TextEncoder().encode(await exportSPKI(provider.publicKey));
  const forgeries: Record<string, (claims: { nonce: string; email: string }) => Promise<string>> = {
    "another nonce": (claims) => provider.sign({ ...claims, nonce: "other" }),
    "no nonce": ({ email }) => provider.sign({ email }),
    "another issuer": (claims) => provider.sign({ ...claims, iss: evil.issuer }),
    "another audience": (claims) => provider.sign({ ...claims, aud: "other" }),
    "several audiences without the authorized party": (claims) => provider.sign({ ...claims, aud: ["console", "other"], azp: "other" }),
    expired: (claims) => provider.sign({ ...claims, iat: past, exp: past + 60 }),
    "another key": (claims) => evil.sign({ ...claims, iss: provider.issuer }),
    "the public key as a secret": (claims) => provider.sign(claims, { alg: "HS256", key: publicText }),
    "no algorithm": async (claims) => {
      const [, payload] = (await provider.sign(claims)).split(".");
      return `${base64({ alg: "none" })}.${payload}.`;
    },
    "a changed payload": async (claims) => {
      const [head, , signature] = (await provider.sign({ ...claims, email: "eve@example.com" })).split(".");
      const [, payload] = (await provider.sign(claims)).split(".");
      return `${head}.${payload}.${signature}`;
    },
    "no token": async () => "",
  };
  for (const [name, forge] of Object.entries(forgeries)) {
    const visitor = new Visitor();
    const at = await visitor.begin(slug);
    await provider.gives(await forge({ nonce: at.searchParams.get("nonce")!, ...ADA }));
    expect((await visitor.comeBack(at)).location?.hash, name).toBe("#problem=provider");
    expect(await visitor.session(), name).toBeUndefined();
  }
  expect((await signInWith(provider, slug, ADA)).end).toBe("/console/");
});

test("each sign-in has a new session, and ends at the console whatever the address asks for", async () => {
  const [workspace, provider] = [await createWorkspace(), await startProvider()];
  const slug = await useProvider(workspace, provider);
  await invite(workspace, "agent", { email: ADA.email });
  const attacker = await join(workspace, "viewer");
  const visitor = new Visitor();
  visitor.cookies.set(...(attacker.browser.cookie!.split("=") as [string, string]));
  const at = await visitor.begin(`${slug}&redirect=https://evil.example.com&return_to=//evil.example.com`);
  await provider.gives(await provider.sign({ nonce: at.searchParams.get("nonce")!, ...ADA }));
  const back = await visitor.comeBack(at, { redirect: "https://evil.example.com", next: "//evil.example.com" });
  expect(back.location?.href).toBe("https://service.test/console/");
  expect((await visitor.session()).member.email).toBe(ADA.email);
  expect((await attacker.browser.call("GET", "/console/session")).body.member.id).toBe(attacker.id);
});

test("another site begins no sign-in, but leads to the sign-in page", async () => {
  const [workspace, provider] = [await createWorkspace(), await startProvider()];
  const slug = await useProvider(workspace, provider);
  for (const site of ["cross-site", "same-site"]) {
    const opened = await new Visitor().open(`/console/sign-in/oidc?workspace=${slug}`, site);
    expect([opened.location?.href, opened.set]).toEqual([`https://service.test/console/?workspace=${slug}`, []]);
  }
  const strange = await new Visitor().open("/console/sign-in/oidc?workspace=//evil.example.com", "cross-site");
  expect(strange.location?.href).toBe("https://service.test/console/");
});

test("the sign-in page learns the methods of a workspace, and of an unknown one those of the default", async () => {
  const [workspace, provider] = [await createWorkspace(), await startProvider()];
  const slug = await useProvider(workspace, provider);
  const methodsOf = async (name: string) => JSON.parse((await new Visitor().open(`/console/sign-in?workspace=${name}`)).body);
  expect(await methodsOf(slug)).toEqual({ methods: ["oidc", "key"] });
  for (const name of ["unknown-workspace", "", "../..", "%00"]) expect(await methodsOf(name)).toEqual({ methods: ["key"] });
  for (const name of ["unknown-workspace", (await createWorkspace().then((other) => other.call("GET", "/me"))).body.workspace.slug]) {
    expect((await new Visitor().begin(name)).hash).toBe("#problem=off");
  }
});

test("a provider that cannot be used is named on the page, and in no more words", async () => {
  const workspace = await createWorkspace();
  const json = { headers: { "Content-Type": "application/json" } };
  const host = newHost();
  const slug = await useProvider(workspace, { issuer: `https://${host}` });
  const document = { issuer: `https://${host}`, authorization_endpoint: `https://${host}/a`, token_endpoint: `https://${host}/t` };
  for (const behaviour of [
    { fails: "reset" as const },
    { status: 404 },
    { ...json, body: "[" },
    { ...json, body: JSON.stringify({ ...document, jwks_uri: `https://${host}/j`, issuer: "https://evil.example.com" }) },
    { ...json, body: JSON.stringify(document) },
    { ...json, body: " ".repeat(1_024), times: 1_024 },
    { status: 302, headers: { Location: "https://evil.example.com/.well-known/openid-configuration" } },
  ]) {
    await behaveAt(host, behaviour);
    expect((await new Visitor().begin(slug)).href).toBe(`https://service.test/console/?workspace=${slug}#problem=provider`);
  }
  const [inside, provider] = [await createWorkspace(), await startProvider({ token_endpoint: "https://10.0.0.1/token" })];
  await invite(inside, "agent", { email: ADA.email });
  expect((await signInWith(provider, await useProvider(inside, provider), ADA)).end).toContain("#problem=provider");
  expect((await receivedBy("10.0.0.1")).length).toBe(0);
});
