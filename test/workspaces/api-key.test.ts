import { describe, expect, test } from "vitest";
import { keyIdOf } from "../../src/platform/crypto/secrets.ts";
import { mintApiKey, verifyApiKey } from "../../src/workspaces/api-key.ts";

const WORKSPACE = "019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b01";
const START = "sk_live_";

const toBytes = (key: string) => Uint8Array.fromBase64(key.slice(START.length), { alphabet: "base64url" });
const toKey = (bytes: Uint8Array) => START + bytes.toBase64({ alphabet: "base64url", omitPadding: true });

/** The key with one bit flipped. */
function tampered(key: string, at: number): string {
  const bytes = toBytes(key);
  bytes[at]! ^= 0x10;
  return toKey(bytes);
}

test("a key begins with sk_live_ and names its workspace", async () => {
  const { key, prefix, hash } = await mintApiKey(WORKSPACE, "secret");
  expect(key).toMatch(/^sk_live_[A-Za-z0-9_-]{86}$/);
  expect(prefix).toBe(key.slice(0, 16));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key))).toHex();
  expect(hash).toBe(digest);
  expect(await verifyApiKey(key, ["secret"])).toEqual({
    workspaceId: WORKSPACE,
    hash: digest,
    secretId: await keyIdOf("secret"),
    isOutdated: false,
  });
});

test("all keys differ, also in their first 16 characters", async () => {
  const keys = await Promise.all(Array.from({ length: 200 }, () => mintApiKey(WORKSPACE, "secret")));
  expect(new Set(keys.map(({ key }) => key)).size).toBe(200);
  expect(new Set(keys.map(({ prefix }) => prefix)).size).toBe(200);
});

test("a key's prefix reveals nothing of the workspace or the MAC", async () => {
  const { key } = await mintApiKey(WORKSPACE, "secret");
  // 8 characters of base64 are 6 bytes, of the 16 random ones.
  expect(toBytes(key)).toHaveLength(16 + 16 + 32);
  expect(toBytes(key).subarray(16, 32).toHex()).toBe(WORKSPACE.replaceAll("-", ""));
});

describe("a forged key is refused", () => {
  test("one flipped bit in any byte", async () => {
    const { key } = await mintApiKey(WORKSPACE, "secret");
    for (let at = 0; at < 64; at++) expect(await verifyApiKey(tampered(key, at), ["secret"]), `byte ${at}`).toBeUndefined();
    expect(await verifyApiKey(toKey(toBytes(key)), ["secret"])).toBeDefined();
  });

  test("another workspace with the same MAC", async () => {
    const [mine, yours] = await Promise.all([mintApiKey(WORKSPACE, "secret"), mintApiKey(crypto.randomUUID(), "secret")]);
    const [a, b] = [toBytes(mine.key), toBytes(yours.key)];
    a.set(b.subarray(16, 32), 16);
    expect(await verifyApiKey(toKey(a), ["secret"])).toBeUndefined();
  });

  test("another secret", async () => {
    const { key } = await mintApiKey(WORKSPACE, "secret");
    expect(await verifyApiKey(key, ["other"])).toBeUndefined();
    expect(await verifyApiKey(key, ["secret "])).toBeUndefined();
    expect(await verifyApiKey(key, [])).toBeUndefined();
  });

  test("another spelling of the same bytes", async () => {
    const { key } = await mintApiKey(WORKSPACE, "secret");
    const body = key.slice(START.length);
    // 86 characters hold four bits more than 64 bytes: they must be zero.
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const last = alphabet.indexOf(body.at(-1)!);
    for (let extra = 1; extra < 16; extra++) {
      expect(await verifyApiKey(START + body.slice(0, -1) + alphabet[last + extra]!, ["secret"]), `${extra}`).toBeUndefined();
    }
    for (const spelling of [`${body}==`, `${body}=`, ` ${body}`, `${body}\n`, body.slice(0, -1), `${body}A`]) {
      expect(await verifyApiKey(START + spelling, ["secret"]), JSON.stringify(spelling)).toBeUndefined();
    }
    expect(await verifyApiKey(`SK_LIVE_${body}`, ["secret"])).toBeUndefined();
    expect(await verifyApiKey(body, ["secret"])).toBeUndefined();
    expect(await verifyApiKey("", ["secret"])).toBeUndefined();
  });

  test("the standard base64 alphabet", async () => {
    for (;;) {
      const { key } = await mintApiKey(WORKSPACE, "secret");
      const standard = START + key.slice(START.length).replaceAll("-", "+").replaceAll("_", "/");
      if (standard === key) continue;
      expect(await verifyApiKey(standard, ["secret"])).toBeUndefined();
      return;
    }
  });
});

describe("during a rotation of the secret", () => {
  test("keys of the new and the old secret are accepted, and of no other", async () => {
    const [old, young, third] = await Promise.all(["old", "new", "third"].map((secret) => mintApiKey(WORKSPACE, secret)));
    expect(await verifyApiKey(old!.key, ["new", "old"])).toEqual({
      workspaceId: WORKSPACE,
      hash: old!.hash,
      secretId: old!.secretId,
      isOutdated: true,
    });
    expect(await verifyApiKey(young!.key, ["new", "old"])).toEqual({
      workspaceId: WORKSPACE,
      hash: young!.hash,
      secretId: young!.secretId,
      isOutdated: false,
    });
    expect(await verifyApiKey(third!.key, ["new", "old"])).toBeUndefined();
  });

  test("a cached key is refused once its secret is removed", async () => {
    const { key } = await mintApiKey(WORKSPACE, "old");
    expect(await verifyApiKey(key, ["new", "old"])).toBeDefined();
    expect(await verifyApiKey(key, ["new"])).toBeUndefined();
  });
});
