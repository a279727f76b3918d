import { expect, test } from "vitest";
import { mintVisitorToken, verifyVisitorToken } from "../../../src/chat/visitor-token.ts";
import { mintThreadToken, verifyThreadToken } from "../../../src/email/address.ts";
import { BASE64URL } from "../../../src/platform/crypto/base64url.ts";
import { mintToken, type TokenFormat, verifyToken } from "../../../src/platform/crypto/signed-token.ts";
import { verifyApiKey } from "../../../src/workspaces/api-key.ts";

const ID = "019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b01";
const VISITOR = "019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b02";
const NOW_MS = Date.parse("2026-01-01T00:00:00.123Z");

const FORMAT: TokenFormat = { prefix: "t_", label: "test/1\0", payloadBytes: 2, macBytes: 8, encoding: BASE64URL };
const PAYLOAD = new Uint8Array([1, 2]);

// Computed apart from this code, with node:crypto: tokens are in people's hands, so their formats never change.
const API_KEY = "sk_live_AAECAwQFBgcICQoLDA0ODwGanw48G31CilVvHS48SwGiCBEPs384zb7Di44EI9dh0sUzJj4754k5juteFxVM1Q";
const VISITOR_TOKEN = "vt_AZqfDjwbfUKKVW8dLjxLAQGanw48G31CilVvHS48SwIBm3baqHv_jnX9UGvPTRppp4KQDF7wXH-GEL7m5pXATiAp8rExjg";
const THREAD_TOKEN = "agnj6dr4dn6ufcsvn4os4pclahcq3taiyr3mli5mie";

test("the formats of issued tokens are unchanged", async () => {
  expect(await verifyApiKey(API_KEY, ["secret"])).toMatchObject({ workspaceId: ID });
  expect(await mintVisitorToken({ agentId: ID, visitorId: VISITOR }, "secret", NOW_MS)).toBe(VISITOR_TOKEN);
  expect(await verifyVisitorToken(VISITOR_TOKEN, ["secret"], NOW_MS)).toMatchObject({
    outcome: "genuine",
    agentId: ID,
    visitorId: VISITOR,
  });
  expect(await mintThreadToken(ID, "secret")).toBe(THREAD_TOKEN);
  expect(await verifyThreadToken(THREAD_TOKEN, ["secret"])).toBe(ID);
});

test("a token verifies with any of the secrets, and names the one that signed it", async () => {
  const token = await mintToken(FORMAT, PAYLOAD, "old");
  expect(await verifyToken(FORMAT, token, ["new", "old"])).toEqual({ payload: PAYLOAD, secretIndex: 1 });
  expect(await verifyToken(FORMAT, token, ["new"])).toBeUndefined();
  expect(await verifyToken(FORMAT, token, [])).toBeUndefined();
});

test("a token of one kind is never valid as another", async () => {
  const token = await mintToken(FORMAT, PAYLOAD, "secret");
  expect(await verifyToken({ ...FORMAT, label: "test/2\0" }, token, ["secret"])).toBeUndefined();
  expect(await verifyToken({ ...FORMAT, prefix: "u_" }, token, ["secret"])).toBeUndefined();
  expect(await verifyToken({ ...FORMAT, payloadBytes: 3, macBytes: 7 }, token, ["secret"])).toBeUndefined();
});

test("a malformed token is refused", async () => {
  const token = await mintToken(FORMAT, PAYLOAD, "secret");
  for (const text of [
    "",
    "t_",
    token.slice(0, -1),
    `${token}A`,
    `${token}=`,
    ` ${token}`,
    `${token} `,
    `${token.slice(0, 6)} ${token.slice(6)}`,
  ]) {
    expect(await verifyToken(FORMAT, text, ["secret"]), JSON.stringify(text)).toBeUndefined();
  }
  expect(await verifyToken(FORMAT, `t_${"A".repeat(1_000_000)}`, ["secret"])).toBeUndefined();
});
