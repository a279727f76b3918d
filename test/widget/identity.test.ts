import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { identitySecretsOf } from "../../src/agents/secrets.ts";
import { findAgent } from "../../src/agents/store.ts";
import { newOperation } from "../../src/platform/db/client.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { readIdentityToken, readUserHash } from "../../src/widget/identity.ts";
import { createAgent, operate } from "../harness.ts";
import { claimsOf, conversationOf, createWidget, hashOf, newSecret, signJwt, visitorOf, visitorsOf } from "./widget.ts";

const NOW_MS = 1_900_000_000_000;
const NOW = NOW_MS / 1000;
const DAY = 24 * 3600;
const SECRET = "the-agents-identity-secret";

describe("an identity token", () => {
  const read = async (token: string, secrets = [SECRET]) => readIdentityToken(token, secrets, NOW_MS);
  const signed = (claims: Record<string, unknown>, header?: Record<string, unknown>) =>
    signJwt(SECRET, { sub: "u-1", exp: NOW + 60, ...claims }, header);

  test("proves id, name and email", async () => {
    expect(await read(await signed({ name: "Ada", email: "ada@example.com" }))).toEqual({
      identity: { externalId: "u-1", name: "Ada", email: "ada@example.com", isProfileSigned: true },
    });
    expect(await read(await signed({ name: null }))).toMatchObject({ identity: { name: null, email: null } });
    // Servers send it for users without a name. It does not replace a known one.
    expect(await read(await signed({ name: " " }))).toMatchObject({ identity: { name: null } });
  });

  test.each([
    ["expired", { exp: NOW - 31 }, "has expired"],
    ["not valid yet", { nbf: NOW + 31 }, "claim nbf is not valid"],
    ["without exp", { exp: undefined }, "lacks the claim exp"],
    ["valid for more than a day", { exp: NOW + DAY + 31 }, "lives longer than 24 hours"],
    ["valid for more than a day from its iat, however little is left", { iat: NOW - DAY, exp: NOW + 31 }, "lives longer than 24 hours"],
    ["valid for more than a day, with an iat to come", { iat: NOW + DAY, exp: NOW + 2 * DAY }, "lives longer than 24 hours"],
    ["without sub", { sub: undefined }, "lacks the claim sub"],
    ["with an exp that is text", { exp: "tomorrow" }, "claim exp is not valid"],
    ["with a number for sub", { sub: 1 }, "sub is not valid"],
    ["with an empty sub", { sub: "" }, "sub is not valid"],
    ["with a long sub", { sub: "x".repeat(129) }, "sub is not valid"],
    ["with what is no email", { email: "nobody" }, "email is not valid"],
    ["with a long name", { name: "x".repeat(121) }, "name is not valid"],
  ])("%s is refused", async (_, claims, problem) => {
    expect(await read(await signed(claims))).toEqual({ problem: expect.stringContaining(problem) });
  });

  test.each([
    ["just expired", { exp: NOW - 29 }],
    ["just not valid yet", { nbf: NOW + 29 }],
    ["valid for a day", { exp: NOW + DAY + 29 }],
    ["valid for a day from its iat", { iat: NOW - 29, exp: NOW + DAY }],
  ])("%s is accepted: clocks differ a little", async (_, claims) => {
    expect(await read(await signed(claims))).toHaveProperty("identity");
  });

  test("of another algorithm is refused", async () => {
    for (const alg of ["HS384", "HS512", "RS256", "ES256", "EdDSA", "hs256"]) {
      expect(await read(await signed({}, { alg })), alg).toEqual({ problem: expect.stringContaining("not signed with HS256") });
    }
    const unsigned = (await signed({}, { alg: "none" })).replace(/[^.]*$/, "");
    expect(await read(unsigned)).toHaveProperty("problem");
    expect(await read(await signed({}, { alg: "none" }))).toHaveProperty("problem");
    expect(await read(await signed({}, { typ: "JWT" }))).toHaveProperty("problem");
    // A key pair's token, checked with its public key as if that were the secret.
    const pair = (await crypto.subtle.generateKey(
      { name: "RSASSA-PKCS1-v1_5", modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-256" },
      true,
      ["sign", "verify"],
    )) as CryptoKeyPair;
    const [head, claims] = (await signed({}, { alg: "RS256" })).split(".");
    const text = new TextEncoder().encode(`${head}.${claims}`);
    const signature = new Uint8Array(await crypto.subtle.sign("RSASSA-PKCS1-v1_5", pair.privateKey, text));
    const rs256 = `${head}.${claims}.${signature.toBase64({ alphabet: "base64url", omitPadding: true })}`;
    expect(await read(rs256)).toEqual({ problem: expect.stringContaining("not signed with HS256") });
  });

  test("with another secret, changed or truncated is refused", async () => {
    const token = await signed({});
    expect(await read(await signJwt("other", claimsOf("u-1")))).toEqual({
      problem: expect.stringContaining("not signed with this agent's"),
    });
    const [head, , signature] = token.split(".");
    const other = (await signed({ sub: "u-2" })).split(".")[1];
    expect(await read(`${head}.${other}.${signature}`)).toHaveProperty("problem");
    for (const broken of ["", "a", "a.b.c", token.slice(0, -2), `${token}.x`, `${token}x`])
      expect(await read(broken)).toHaveProperty("problem");
  });

  test("of either secret is accepted during rotation, and none without a secret", async () => {
    const token = await signed({});
    expect(await read(token, ["new", SECRET])).toHaveProperty("identity");
    expect(await read(token, ["new"])).toHaveProperty("problem");
    expect(await read(token, [])).toEqual({ problem: expect.stringContaining("no identity secret") });
    // The problem is reported whichever secret signed the token.
    expect(await read(await signed({ exp: NOW - 60 }), ["new", SECRET])).toEqual({ problem: expect.stringContaining("has expired") });
  });
});

describe("a user hash", () => {
  const user = { id: "ü-1", name: "Ada", email: "ada@example.com" };

  test("proves the id alone", async () => {
    const hash = await hashOf(SECRET, user.id);
    const expected = { identity: { externalId: "ü-1", name: "Ada", email: "ada@example.com", isProfileSigned: false } };
    expect(await readUserHash(hash, user, [SECRET])).toEqual(expected);
    expect(await readUserHash(hash.toUpperCase(), user, ["new", SECRET])).toEqual(expected);
  });

  test("of another id, of another secret or malformed is refused", async () => {
    const hash = await hashOf(SECRET, user.id);
    for (const [given, secrets] of [
      [await hashOf(SECRET, "ü-2"), [SECRET]],
      [hash, ["other"]],
      [hash.slice(2), [SECRET]],
      [`${hash}00`, [SECRET]],
      ["", [SECRET]],
      [hash, []],
    ] as const) {
      expect(await readUserHash(given, user, secrets)).toHaveProperty("problem");
    }
  });
});

/** A widget whose agent has an identity secret. */
async function createWidgetWithSecret() {
  const widget = await createWidget();
  const secret = await newSecret(widget.workspace, widget.agent.id);
  return { ...widget, secret, jwt: (sub: string, more?: Record<string, unknown>) => signJwt(secret, claimsOf(sub, more)) };
}

describe("the surface", () => {
  test("accepts a signed identity as a verified visitor", async () => {
    const { workspace, visitor, jwt } = await createWidgetWithSecret();
    const { status, body } = await visitor().write({ identity_token: await jwt("u-1", { name: "Ada", email: "Ada@Example.com" }) });
    expect(status).toBe(200);
    expect(body.anon_id).toBe("user:u-1");
    const { visitor: person } = await conversationOf(workspace, body.conversation_id);
    expect(person).toMatchObject({ anon_id: "user:u-1", external_id: "u-1", name: "Ada", email: "Ada@Example.com", verified: true });
    expect(await visitorsOf(workspace)).toMatchObject([{ email_key: "ada@example.com" }]);
  });

  test("refuses an identity that the agent's secret did not sign, and stores nothing", async () => {
    const { workspace, agent, visitor, secret, jwt } = await createWidgetWithSecret();
    const other = await createAgent(workspace, { name: "Other" });
    const bare = await createAgent(workspace, { name: "Bare" });
    const others = await newSecret(workspace, other.id);
    for (const body of [
      { identity_token: await signJwt(others, claimsOf("u-1")) },
      { identity_token: await signJwt(secret, { sub: "u-1", exp: 1 }) },
      { identity_token: "nonsense" },
      { user: { id: "u-1" }, user_hash: await hashOf(others, "u-1") },
      { user: { id: "u-1" }, user_hash: "nonsense" },
    ]) {
      const answer = await visitor().write(body);
      expect(answer).toMatchObject({ status: 401, body: { error: { code: "invalid_identity" } } });
      expect(answer.headers.get("WWW-Authenticate")).toBe("Bearer");
    }
    expect((await visitorOf(bare.id).write({ identity_token: await jwt("u-1") })).status).toBe(401);
    expect(await visitorsOf(workspace)).toEqual([]);
    expect(agent.id).not.toBe(other.id);
  });

  test("accepts both secrets during rotation, and not an older one", async () => {
    const { workspace, agent, visitor, jwt } = await createWidgetWithSecret();
    const first = await jwt("u-1");
    const second = await newSecret(workspace, agent.id);
    expect((await visitor().write({ identity_token: first })).status).toBe(200);
    expect((await visitor().write({ identity_token: await signJwt(second, claimsOf("u-1")) })).status).toBe(200);
    await newSecret(workspace, agent.id);
    expect((await visitor().write({ identity_token: first })).status).toBe(401);
    expect((await visitor().write({ user: { id: "u-1" }, user_hash: await hashOf(second, "u-1") })).status).toBe(200);
  });

  test("a hash fills gaps in the profile, a token replaces it", async () => {
    const { workspace, visitor, secret, jwt } = await createWidgetWithSecret();
    const hash = await hashOf(secret, "u-1");
    const by = (user: Record<string, unknown>) => visitor().write({ user: { id: "u-1", ...user }, user_hash: hash });
    await by({ name: "Ada" });
    expect(await visitorsOf(workspace)).toMatchObject([{ name: "Ada", email: null, external_id: "u-1", verified: 1 }]);
    await by({ name: "Eve", email: "Ada@Example.com" });
    expect(await visitorsOf(workspace)).toMatchObject([{ name: "Ada", email: "Ada@Example.com", email_key: "ada@example.com" }]);
    await visitor().write({ identity_token: await jwt("u-1", { email: "lovelace@example.com" }) });
    expect(await visitorsOf(workspace)).toMatchObject([{ name: "Ada", email: "lovelace@example.com", email_key: "lovelace@example.com" }]);
    await by({ email: "eve@example.com" });
    expect(await visitorsOf(workspace)).toMatchObject([{ email: "lovelace@example.com" }]);
  });

  test("is a different visitor than the API's user with the same id", async () => {
    const { workspace, agent, visitor, jwt } = await createWidgetWithSecret();
    const asked = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "When are refunds paid?", user: { id: "u-1" } });
    for (const sub of ["u-1", "api:u-1"]) {
      const answer = await visitor().write({ identity_token: await jwt(sub) });
      expect(answer.body.anon_id).toBe(`user:${sub}`);
      const theirs = { conversation_id: asked.body.conversation_id, identity_token: await jwt(sub) };
      expect((await visitor().write(theirs)).status).toBe(404);
    }
    expect((await visitorsOf(workspace)).map(({ anon_id: anonId }) => String(anonId)).toSorted((a, b) => a.localeCompare(b))).toEqual([
      "api:u-1",
      "user:api:u-1",
      "user:u-1",
    ]);
  });
});

describe("a visitor who identifies later", () => {
  test("keeps their conversations, leads and messages, and their old token still opens its conversations", async () => {
    const { workspace, agent, visitor, jwt } = await createWidgetWithSecret();
    const ada = visitor();
    const anonymous = (await ada.write({})).body;
    const { conversation_id: id, visitor_token: oldToken } = anonymous;
    await ada.send("POST", `/agents/${agent.id}/leads`, { email: "a@example.com", visitor_token: oldToken, conversation_id: id });
    const named = await ada.write({ conversation_id: id, visitor_token: oldToken, identity_token: await jwt("u-1", { name: "Ada" }) });
    expect(named).toMatchObject({ status: 200, body: { conversation_id: id, anon_id: "user:u-1" } });
    const conversation = await conversationOf(workspace, id);
    expect(conversation).toMatchObject({ message_count: 4, visitor: { external_id: "u-1", name: "Ada", verified: true } });
    const authors = conversation.messages.filter(({ role }: any) => role === "user").map(({ author }: any) => author.id);
    expect(authors).toEqual([conversation.visitor.id, conversation.visitor.id]);
    const [before, person] = await visitorsOf(workspace);
    expect([before, person]).toMatchObject([
      { anon_id: anonymous.anon_id, merged_into: person!["id"] },
      { anon_id: "user:u-1", merged_into: null },
    ]);
    const left = await ada.send("POST", `/agents/${agent.id}/leads`, { email: "a@example.com", visitor_token: oldToken });
    expect(left.body.visitor_id).toBe(person!["id"]);
    // The old token goes on with its conversation, as the person that its visitor is.
    expect((await ada.on(oldToken, id, "GET", "messages")).body.data).toHaveLength(4);
    expect(await ada.write({ conversation_id: id, visitor_token: oldToken })).toMatchObject({
      status: 200,
      body: { anon_id: anonymous.anon_id },
    });
    const begun = (await ada.write({ visitor_token: oldToken })).body;
    expect((await conversationOf(workspace, begun.conversation_id)).visitor.id).toBe(person!["id"]);
    expect((await ada.on(begun.visitor_token, begun.conversation_id, "GET", "messages")).status).toBe(200);
    // The new token opens both conversations without the identity.
    for (const mine of [id, begun.conversation_id]) {
      expect((await ada.on(named.body.visitor_token, mine, "GET", "messages")).status).toBe(200);
      expect((await ada.write({ conversation_id: mine, visitor_token: named.body.visitor_token })).status).toBe(200);
    }
    expect((await workspace.call("GET", "/conversations")).body.total).toBe(2);
  });

  test("is the same visitor on another device", async () => {
    const { workspace, visitor, jwt } = await createWidgetWithSecret();
    const [desktop, phone] = [visitor(), visitor()];
    const known = (await desktop.write({ identity_token: await jwt("u-1") })).body;
    const anonymous = (await phone.write({})).body;
    const joined = (await phone.write({ visitor_token: anonymous.visitor_token, identity_token: await jwt("u-1") })).body;
    const ids = [known, anonymous, joined].map(({ conversation_id: id }) => id);
    const people = await Promise.all(ids.map(async (id) => (await conversationOf(workspace, id)).visitor.id));
    expect(new Set(people).size).toBe(1);
    for (const id of ids) {
      expect((await phone.on(joined.visitor_token, id, "GET", "messages")).status).toBe(200);
      expect((await desktop.on(known.visitor_token, id, "GET", "messages")).status).toBe(200);
    }
    // A token of an unidentified visitor only opens its own conversation, since somebody else may have it.
    expect((await phone.on(anonymous.visitor_token, anonymous.conversation_id, "GET", "messages")).status).toBe(200);
    for (const id of [known.conversation_id, joined.conversation_id]) {
      expect((await phone.on(anonymous.visitor_token, id, "GET", "messages")).status).toBe(404);
      expect((await phone.write({ visitor_token: anonymous.visitor_token, conversation_id: id })).status).toBe(404);
    }
  });

  test("is not merged with the next one on the same computer", async () => {
    const { workspace, visitor, jwt } = await createWidgetWithSecret();
    const shared = visitor();
    const anonymous = (await shared.write({})).body;
    const ada = (await shared.write({ visitor_token: anonymous.visitor_token, identity_token: await jwt("ada") })).body;
    for (const token of [anonymous.visitor_token, ada.visitor_token]) {
      const bob = (await shared.write({ visitor_token: token, identity_token: await jwt("bob") })).body;
      expect(bob.anon_id).toBe("user:bob");
      for (const { conversation_id: id } of [anonymous, ada]) {
        expect((await shared.on(bob.visitor_token, id, "GET", "messages")).status).toBe(404);
        const theirs = { conversation_id: id, visitor_token: token, identity_token: await jwt("bob") };
        expect((await shared.write(theirs)).status).toBe(404);
      }
    }
    expect((await conversationOf(workspace, anonymous.conversation_id)).visitor.external_id).toBe("ada");
  });

  test("is merged once, however many messages identify them at once", async () => {
    const { workspace, visitor, jwt } = await createWidgetWithSecret();
    const ada = visitor();
    const { conversation_id: id, visitor_token: token } = (await ada.write({})).body;
    const identity = await jwt("u-1");
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, at) =>
        ada.write({ visitor_token: token, ...(at % 2 === 0 && { identity_token: identity }), ...(at < 6 && { conversation_id: id }) }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
    const [before, person, ...others] = await visitorsOf(workspace);
    expect(others).toEqual([]);
    expect(before!["merged_into"]).toBe(person!["id"]);
    const { data } = (await workspace.call("GET", "/conversations")).body;
    expect(data.map(({ visitor }: any) => visitor.id)).toEqual(Array(3).fill(person!["id"]));
  });

  test("is not merged by a message that is refused", async () => {
    const { workspace, visitor, jwt } = await createWidgetWithSecret();
    const ada = visitor();
    const { visitor_token: token } = (await ada.write({})).body;
    await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { messages: 1 } });
    expect((await ada.write({ visitor_token: token, identity_token: await jwt("u-1") })).status).toBe(402);
    expect(await visitorsOf(workspace)).toMatchObject([{ merged_into: null }]);
  });
});

test("the previous secret is valid until its expiry", async () => {
  const { workspace, agent } = await createWidgetWithSecret();
  await newSecret(workspace, agent.id);
  const { db } = newOperation(env, new Meter(), agent.id);
  const [[row]] = await db.batch([findAgent(db, workspace.id, agent.id)]);
  const until = row!.previousIdentitySecretUntil!;
  const { secrets } = await identitySecretsOf(env, row!, until - 1);
  expect(secrets).toEqual([expect.any(String), expect.any(String)]);
  expect((await identitySecretsOf(env, row!, until)).secrets).toEqual([secrets[0]]);
});
