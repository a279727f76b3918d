import { exports } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { newId, shardOf } from "../../src/platform/db/ids.ts";
import { createWorkspace, newAddress, query, send } from "../harness.ts";
import { behaveAt, newHost, receivedBy } from "../outbound.ts";
import { join, type SignedIn } from "../members/team.ts";

const ORIGIN = "https://service.test";
const CALLBACK = "https://assistant.example.com/callback";
const VERIFIER = "v".repeat(43);
const LIST = { jsonrpc: "2.0", id: 1, method: "tools/list" };

function fetchService(url: string | URL, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  for (const [name, value] of Object.entries(newAddress())) headers.set(name, value);
  return exports.default.fetch(new Request(url, { ...init, headers, redirect: "manual" }));
}

/** Follows the address that an application opens, to the console, and allows these scopes there. @returns the address it is sent back to. */
async function allow(member: SignedIn, address: string | URL, scopes?: string[]): Promise<URL> {
  const opened = await fetchService(address);
  expect(opened.status).toBe(303);
  const request = new URLSearchParams(new URL(opened.headers.get("Location")!, ORIGIN).hash.slice(1)).get("authorize")!;
  const asked = await member.browser.call("POST", "/console/consent/read", { request });
  expect(asked.body).toHaveProperty("scopes");
  const { status, body } = await member.browser.call("POST", "/console/consent", { request, scopes: scopes ?? asked.body.scopes });
  expect(status).toBe(200);
  return new URL(body.redirect_url);
}

async function challengeOf(verifier: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  return new Uint8Array(digest).toBase64({ alphabet: "base64url", omitPadding: true });
}

async function register(metadata: Record<string, unknown> = {}): Promise<{ status: number; body: any }> {
  const sent = { client_name: "Assistant", redirect_uris: [CALLBACK], token_endpoint_auth_method: "none", ...metadata };
  const headers = { "Content-Type": "application/json" };
  const response = await fetchService(`${ORIGIN}/oauth/register`, { method: "POST", headers, body: JSON.stringify(sent) });
  return { status: response.status, body: await response.json() };
}

async function addressFor(clientId: string, more: Record<string, string | undefined> = {}): Promise<string> {
  const parameters = {
    response_type: "code",
    client_id: clientId,
    redirect_uri: CALLBACK,
    state: "s",
    code_challenge: await challengeOf(VERIFIER),
    code_challenge_method: "S256",
    resource: `${ORIGIN}/mcp`,
    ...more,
  };
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return `${ORIGIN}/oauth/authorize?${new URLSearchParams(given).toString()}`;
}

async function token(parameters: Record<string, string> | string, headers = {}): Promise<{ status: number; body: any }> {
  const response = await fetchService(`${ORIGIN}/oauth/token`, { method: "POST", headers, body: new URLSearchParams(parameters) });
  const text = await response.text();
  return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
}

/** The parameters that exchange the code of an address. */
function exchangeOf(clientId: string, address: URL, more: Record<string, string> = {}): Record<string, string> {
  const code = address.searchParams.get("code")!;
  return { grant_type: "authorization_code", client_id: clientId, code, redirect_uri: CALLBACK, code_verifier: VERIFIER, ...more };
}

/** A new application, connected by a member. */
async function connected(member: SignedIn, scopes?: string[]) {
  const { client_id: clientId } = (await register()).body;
  const { status, body } = await token(exchangeOf(clientId, await allow(member, await addressFor(clientId), scopes)));
  expect(status).toBe(200);
  return { clientId: clientId as string, ...(body as { access_token: string; refresh_token: string; scope: string; resource: string }) };
}

/** The names of the tools that a token sees; undefined if it is refused. */
async function toolsOf(accessToken: string): Promise<string[] | undefined> {
  const headers = { Accept: "application/json, text/event-stream", ...newAddress() };
  const { status, body } = await send("POST", "/mcp", { token: accessToken, body: LIST, headers });
  if (status === 401) return undefined;
  expect(status).toBe(200);
  return body.result.tools.map(({ name }: { name: string }) => name);
}

async function createTeam() {
  const workspace = await createWorkspace();
  return { workspace, owner: await join(workspace, "owner"), agent: await join(workspace, "agent") };
}

test("the metadata says where everything is, and a 401 of /mcp leads there", async () => {
  const at = await fetchService(`${ORIGIN}/mcp`, { method: "POST", body: "{}" });
  const resource = `${ORIGIN}/.well-known/oauth-protected-resource/mcp`;
  expect(at.headers.get("WWW-Authenticate")).toBe(`Bearer resource_metadata="${resource}"`);
  const wrong = await fetchService(`${ORIGIN}/mcp`, { method: "POST", headers: { Authorization: "Bearer sk_live_wrong" }, body: "{}" });
  expect(wrong.status).toBe(401);
  expect(wrong.headers.get("WWW-Authenticate")).toBe(`Bearer error="invalid_token", resource_metadata="${resource}"`);
  expect((await wrong.json<any>()).error.code).toBe("invalid_api_key");
  for (const address of [resource, `${ORIGIN}/.well-known/oauth-protected-resource`]) {
    const described = await (await fetchService(address)).json<any>();
    expect(described).toMatchObject({ resource: `${ORIGIN}/mcp`, authorization_servers: [ORIGIN], bearer_methods_supported: ["header"] });
  }
  expect(await (await fetchService(`${ORIGIN}/.well-known/oauth-authorization-server`)).json()).toMatchObject({
    issuer: ORIGIN,
    authorization_endpoint: `${ORIGIN}/oauth/authorize`,
    token_endpoint: `${ORIGIN}/oauth/token`,
    registration_endpoint: `${ORIGIN}/oauth/register`,
    revocation_endpoint: `${ORIGIN}/oauth/token`,
    code_challenge_methods_supported: ["S256"],
    client_id_metadata_document_supported: true,
    authorization_response_iss_parameter_supported: true,
  });
  expect((await fetchService("http://service.test/.well-known/oauth-authorization-server")).status).toBe(404);
});

test("a code works once, for its client, its address and its verifier, and a second use ends what it gave", async () => {
  const { owner } = await createTeam();
  const { client_id: clientId } = (await register()).body;
  const { client_id: otherId } = (await register()).body;
  const back = await allow(owner, await addressFor(clientId));
  const attempts: Record<string, string>[] = [
    { code_verifier: "w".repeat(43) },
    { code_verifier: "" },
    { redirect_uri: "https://assistant.example.com/other" },
    { client_id: otherId },
    { resource: "https://other.test/mcp" },
  ];
  for (const change of attempts) expect((await token(exchangeOf(clientId, back, change))).status, JSON.stringify(change)).toBe(400);
  // Of several at the same time, one gets tokens.
  const both = await Promise.all([1, 2, 3].map(() => token(exchangeOf(clientId, back))));
  const [given, ...more] = both.filter(({ status }) => status === 200);
  expect(more).toEqual([]);
  if (await toolsOf(given!.body.access_token)) expect((await token(exchangeOf(clientId, back))).body.error).toBe("invalid_grant");
  expect(await toolsOf(given!.body.access_token)).toBeUndefined();
  expect((await token({ grant_type: "refresh_token", client_id: clientId, refresh_token: given!.body.refresh_token })).status).toBe(400);
});

test("requests that are not as registered are refused, where they lead away only if the address is the application's", async () => {
  const { owner } = await createTeam();
  const { client_id: clientId } = (await register()).body;
  const read = async (more: Record<string, string | undefined>) => {
    const request = new URL(await addressFor(clientId, more)).search.slice(1);
    return (await owner.browser.call("POST", "/console/consent/read", { request })).body;
  };
  for (const change of [
    { redirect_uri: "https://evil.example.com/callback" },
    { redirect_uri: `${CALLBACK}/../x` },
    { client_id: "unknown" },
  ])
    expect(await read(change), JSON.stringify(change)).toEqual({ problem: expect.any(String) });
  const led: [Record<string, string | undefined>, string][] = [
    [{ code_challenge: undefined }, "invalid_request"],
    [{ code_challenge_method: "plain" }, "invalid_request"],
    [{ response_type: "token" }, "unsupported_response_type"],
    [{ scope: "everything" }, "invalid_scope"],
    [{ resource: "https://other.test/mcp" }, "invalid_target"],
  ];
  for (const [change, error] of led) {
    const { redirect_url: url } = await read(change);
    expect(url, JSON.stringify(change)).toMatch(new RegExp(`^${CALLBACK}\\?error=${error}&`));
  }
  // Without a resource, the token is for the only one that there is.
  const back = await allow(owner, await addressFor(clientId, { resource: undefined }));
  expect((await token(exchangeOf(clientId, back))).body.resource).toBe(`${ORIGIN}/mcp`);
});

test("only the console's own page of a signed-in member gives consent", async () => {
  const { workspace, owner } = await createTeam();
  const { client_id: clientId } = (await register()).body;
  const request = new URL(await addressFor(clientId)).search.slice(1);
  const sent = { request, scopes: ["agents:read"] };
  const foreign = [{ Origin: "https://evil.example.com", "Sec-Fetch-Site": "cross-site" }, { "Sec-Fetch-Site": "same-site" }];
  for (const headers of foreign) expect((await owner.browser.call("POST", "/console/consent", sent, headers)).status).toBe(403);
  expect((await send("POST", "/console/consent", { token: workspace.key, body: sent, headers: newAddress() })).status).toBe(403);
  expect(await query(workspace.id, "SELECT id FROM applications WHERE workspace_id = ?", workspace.id)).toEqual([]);
  const declined = await owner.browser.call("POST", "/console/consent", { request, scopes: [] });
  expect(declined.body.redirect_url).toMatch(`${CALLBACK}?error=access_denied`);
});

test("a token allows what the member allowed and may do, on /mcp alone", async () => {
  const { workspace, owner, agent } = await createTeam();
  const { access_token: all } = await connected(agent);
  expect(await toolsOf(all)).not.toContain("add_answer");
  expect(await toolsOf(all)).toContain("reply_to_conversation");
  const { access_token: reads } = await connected(owner, ["knowledge:read", "agents:read"]);
  expect(await toolsOf(reads)).toEqual(["search", "fetch", "list_agents", "list_sources"]);
  // The token is neither a key of the API nor signs in to the console.
  expect((await send("GET", "/api/v1/agents", { token: reads })).status).toBe(401);
  const signIn = await owner.browser.call("POST", "/console/session", { secret: reads, name: "x" });
  expect(signIn.status).toBe(401);
  // A member who may do less takes it from the applications.
  expect((await workspace.call("PATCH", `/members/${agent.id}`, { role: "viewer" })).status).toBe(200);
  expect(await toolsOf(all)).not.toContain("reply_to_conversation");
});

test("refresh tokens rotate, and a refresh ends the token before the last one", async () => {
  const { owner } = await createTeam();
  const first = await connected(owner);
  const refresh = (refreshToken: string, clientId = first.clientId) =>
    token({ grant_type: "refresh_token", client_id: clientId, refresh_token: refreshToken });
  expect((await refresh(first.refresh_token, (await register()).body.client_id)).body.error).toBe("invalid_grant");
  const second = (await refresh(first.refresh_token)).body;
  const third = (await refresh(second.refresh_token)).body;
  expect((await refresh(first.refresh_token)).body.error).toBe("invalid_grant");
  expect(await toolsOf(first.access_token)).toBeUndefined();
  expect(await toolsOf(second.access_token)).toBeDefined();
  expect(await toolsOf(third.access_token)).toBeDefined();
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 61 * 60_000 });
  expect(await toolsOf(third.access_token)).toBeUndefined();
  vi.useRealTimers();
});

test("a client, the member and the removal of the member end an application at once", async () => {
  const { workspace, owner, agent } = await createTeam();
  const [byToken, byRefresh, byUnnamed, byMember, byRemoval] = [
    await connected(agent),
    await connected(agent),
    await connected(agent),
    await connected(agent),
    await connected(agent),
  ];
  // Another client's revocation has no effect.
  expect((await token({ client_id: byRefresh.clientId, token: byToken.access_token })).status).toBe(200);
  expect(await toolsOf(byToken.access_token)).toBeDefined();
  await token({ client_id: byToken.clientId, token: byToken.access_token });
  await token({ client_id: byRefresh.clientId, token: byRefresh.refresh_token, token_type_hint: "refresh_token" });
  expect(await toolsOf(byToken.access_token)).toBeUndefined();
  expect(await toolsOf(byRefresh.access_token)).toBeUndefined();
  // The hint may be left out (RFC 7009).
  await token({ client_id: byUnnamed.clientId, token: byUnnamed.refresh_token });
  expect(await toolsOf(byUnnamed.access_token)).toBeUndefined();

  const path = `/members/${agent.id}/applications`;
  const { data } = (await agent.call("GET", path)).body;
  const connections = (await workspace.call("GET", "/audit?action=application.connected")).body.data;
  expect(connections.map((entry: any) => entry.target_name)).toEqual([...data.map(({ name }: any) => name), null, null, null]);
  expect(data).toHaveLength(2);
  const neighbour = await join(await createWorkspace(), "owner");
  expect((await neighbour.call("DELETE", `${path}/${data[1].id}`)).status).toBe(404);
  expect((await owner.call("DELETE", `${path}/${data[1].id}`)).status).toBe(204);
  expect(await toolsOf(byMember.access_token)).toBeUndefined();
  expect((await token({ grant_type: "refresh_token", client_id: byMember.clientId, refresh_token: byMember.refresh_token })).status).toBe(
    400,
  );

  expect((await owner.call("DELETE", `/members/${agent.id}`)).status).toBe(204);
  expect(await toolsOf(byRemoval.access_token)).toBeUndefined();
  expect((await token({ grant_type: "refresh_token", client_id: byRemoval.clientId, refresh_token: byRemoval.refresh_token })).status).toBe(
    400,
  );
  expect(await query(workspace.id, "SELECT id FROM applications WHERE workspace_id = ?", workspace.id)).toEqual([]);
  const log = (await workspace.call("GET", "/audit?action=application.disconnected")).body;
  expect(log.data).toHaveLength(4);
});

test("with the twenty-first application the oldest one is disconnected", async () => {
  const { workspace, agent } = await createTeam();
  const first = await connected(agent);
  const copy = `INSERT INTO applications (id, workspace_id, member_id, grant_id, grant_record, name, host, created_at, expires_at)
    SELECT ?1, workspace_id, member_id, ?1, grant_record, name, host, created_at, expires_at FROM applications WHERE workspace_id = ?2 LIMIT 1`;
  const ids = Array.from({ length: 19 }, () => newId(shardOf(workspace.id), Date.now()));
  for (const id of ids) await query(workspace.id, copy, id, workspace.id);
  expect(await toolsOf(first.access_token)).toBeDefined();
  const last = await connected(agent);
  expect(await toolsOf(first.access_token)).toBeUndefined();
  expect(await toolsOf(last.access_token)).toBeDefined();
  const left = await query<{ id: string }>(workspace.id, "SELECT id FROM applications WHERE workspace_id = ? ORDER BY id", workspace.id);
  expect(left.map(({ id }) => id)).toEqual([...ids, expect.any(String)]);
});

test("registrations are bounded, and refused with what cannot be an application", async () => {
  const refused: Record<string, unknown>[] = [
    { redirect_uris: [] },
    { redirect_uris: ["javascript:alert(1)"] },
    { redirect_uris: ["http://assistant.example.com/callback"] },
    { redirect_uris: [`${CALLBACK}#fragment`] },
    { client_name: 7 },
  ];
  for (const metadata of refused) expect((await register(metadata)).status, JSON.stringify(metadata)).toBe(400);
  expect((await register({ client_name: "x".repeat(40_000) })).status).toBe(413);
  const address = newAddress();
  const statuses: number[] = [];
  for (let sent = 0; sent < 61; sent++) {
    const response = await exports.default.fetch(new Request(`${ORIGIN}/oauth/register`, { method: "POST", headers: address, body: "{}" }));
    statuses.push(response.status);
    await response.body?.cancel();
  }
  expect(statuses.at(-1)).toBe(429);
});

test("an application is known by the document at its address, which must be public", async () => {
  const { owner } = await createTeam();
  const host = newHost();
  const clientId = `https://${host}/client.json`;
  const document = { client_id: clientId, client_name: "<b>Assistant</b>", redirect_uris: [CALLBACK], token_endpoint_auth_method: "none" };
  const headers = { "Content-Type": "application/json" };
  await behaveAt(`${host}/client.json`, { status: 200, headers, body: JSON.stringify(document) });
  const request = new URL(await addressFor(clientId)).search.slice(1);
  const asked = await owner.browser.call("POST", "/console/consent/read", { request });
  expect(asked.body.application).toEqual({ name: "<b>Assistant</b>", host: "assistant.example.com", domain: host, is_local: false });
  expect(await receivedBy(host)).not.toEqual([]);
  const { status } = await token(exchangeOf(clientId, await allow(owner, await addressFor(clientId))));
  expect(status).toBe(200);
  for (const address of ["https://10.0.0.1/client.json", "https://metadata.internal/client.json", "https://localhost:8443/client.json"]) {
    const hostile = new URL(await addressFor(address)).search.slice(1);
    expect((await owner.browser.call("POST", "/console/consent/read", { request: hostile })).body).toEqual({ problem: expect.any(String) });
    const exchanged = await token({ grant_type: "authorization_code", client_id: address, code: "a:b:c", code_verifier: VERIFIER });
    expect(exchanged.body.error).toBe("invalid_client");
  }
});

test("no other form of a request leads to an address that is not public", async () => {
  const address = "https://metadata.internal/client.json";
  const grant = { grant_type: "authorization_code", code: "a:b:c", code_verifier: VERIFIER };
  const refusal = async (parameters: Record<string, string> | string, headers = {}) =>
    (await token(parameters, headers)).body.error_description as string;
  for (const first of ["", "known"])
    expect(await refusal(`${new URLSearchParams(grant).toString()}&client_id=${first}&client_id=${encodeURIComponent(address)}`)).toBe(
      "A parameter must not be repeated.",
    );
  for (const separator of [" ", "\t", "  \t"]) {
    const Authorization = `Basic${separator}${btoa(`${encodeURIComponent(address)}:secret`)}`;
    expect(await refusal(grant, { Authorization }), JSON.stringify(separator)).toBe("The client may not be fetched.");
  }
  const client_assertion_type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
  const assertionOf = (claims: string) => ({ client_assertion: `${btoa("{}")}.${claims}.AAAA`, client_assertion_type });
  // With another separator, the library does not take the header for credentials, and reads the assertion instead.
  for (const separator of ["\u00a0", "\v", "\f"]) {
    const headers = { Authorization: `Basic${separator}${btoa("x:secret")}` };
    const signed = assertionOf(btoa(JSON.stringify({ iss: address })).replaceAll("=", ""));
    expect(await refusal({ ...grant, ...signed }, headers), JSON.stringify(separator)).toBe("The client may not be fetched.");
  }
  // The library also reads claims in the other alphabet of base64.
  const claims = btoa(JSON.stringify({ iss: address, sub: "\u00fb\u00ff>>>???" }));
  expect(claims).toMatch(/[+/]/);
  expect(await refusal({ ...grant, ...assertionOf(claims) })).toBe("The client's credentials cannot be read.");
  expect((await token(`${new URLSearchParams(grant).toString()}&resource=a&resource=b&client_id=unknown`)).body.error_description).toBe(
    "Client not found",
  );
});

test("the keys of an application that signs are fetched only from a public address", async () => {
  const keys = newHost();
  await behaveAt(keys, { status: 404 });
  const base64 = (value: object) => new TextEncoder().encode(JSON.stringify(value)).toBase64({ alphabet: "base64url", omitPadding: true });
  const signIn = async (jwksUri: string) => {
    const host = newHost();
    const clientId = `https://${host}/client.json`;
    const document = {
      client_id: clientId,
      client_name: "Assistant",
      redirect_uris: [CALLBACK],
      token_endpoint_auth_method: "private_key_jwt",
      token_endpoint_auth_signing_alg: "ES256",
      jwks_uri: jwksUri,
    };
    const headers = { "Content-Type": "application/json" };
    await behaveAt(`${host}/client.json`, { status: 200, headers, body: JSON.stringify(document) });
    const nowSeconds = Math.floor(Date.now() / 1000);
    const claims = { iss: clientId, sub: clientId, aud: ORIGIN, iat: nowSeconds, exp: nowSeconds + 60, jti: crypto.randomUUID() };
    const { status, body } = await token({
      grant_type: "authorization_code",
      code: "a:b:c",
      code_verifier: VERIFIER,
      client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      client_assertion: `${base64({ alg: "ES256", kid: "k" })}.${base64(claims)}.${"A".repeat(86)}`,
    });
    expect([status, body.error]).toEqual([401, "invalid_client"]);
    return body.error_description as string;
  };
  expect(await signIn(`https://${keys}/keys`)).not.toBe("The client may not be fetched.");
  expect(await receivedBy(keys)).toHaveLength(1);
  for (const address of ["https://10.0.0.1/keys", "https://metadata.internal/keys"])
    expect(await signIn(address)).toBe("The client may not be fetched.");
});
