import { describe, expect, test } from "vitest";
import { decryptSecret, encryptSecret } from "../../../src/platform/crypto/secrets.ts";
import { envWith } from "../../harness.ts";

const PLACE = "agent/019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00";
const using = (key: string) => envWith({ ENCRYPTION_KEY: key });

test.each(["", "whsec_short", "pässwörd 😀", "x".repeat(10_000), "a.b.c"])("an encrypted secret can be decrypted", async (secret) => {
  const stored = await encryptSecret(using("key"), secret, PLACE);
  expect(await decryptSecret(using("key"), stored, PLACE)).toBe(secret);
});

test("the ciphertext reveals nothing and differs each time", async () => {
  const stored = await Promise.all(Array.from({ length: 50 }, () => encryptSecret(using("key"), "hunter2", PLACE)));
  expect(new Set(stored).size).toBe(50);
  const nonces = stored.map((text) => text.split(".")[2]!);
  expect(new Set(nonces).size).toBe(50);
  for (const text of stored) {
    // The format, the key's id, a nonce of 12 bytes, the text with a tag of 16.
    expect(text).toMatch(/^v1\.[0-9a-f]{8}\.[\w-]{16}\.[\w-]{31}$/);
    expect(text).not.toContain("hunter2");
    expect(text).not.toContain(new TextEncoder().encode("hunter2").toBase64({ alphabet: "base64url", omitPadding: true }));
  }
});

test("a ciphertext that was moved to another record is refused", async () => {
  const stored = await encryptSecret(using("key"), "hunter2", PLACE);
  for (const place of ["agent/019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b01", `${PLACE} `, ""]) {
    await expect(decryptSecret(using("key"), stored, place)).rejects.toThrow();
  }
});

test("a ciphertext that was changed in any part is refused", async () => {
  const stored = await encryptSecret(using("key"), "hunter2", PLACE);
  const [format, id, nonce, text] = stored.split(".") as [string, string, string, string];
  const flip = (part: string, at: number) => {
    const bytes = Uint8Array.fromBase64(part, { alphabet: "base64url" });
    bytes[at]! ^= 1;
    return bytes.toBase64({ alphabet: "base64url", omitPadding: true });
  };
  const changed = [
    ...Array.from({ length: 12 }, (_, at) => [format, id, flip(nonce, at), text]),
    ...Array.from({ length: 23 }, (_, at) => [format, id, nonce, flip(text, at)]),
    [format, id, nonce, text.slice(0, -4)],
    [format, id, nonce, ""],
    [format, id, "", text],
    [format, "00000000", nonce, text],
    ["v2", id, nonce, text],
    [id, nonce, text],
  ].map((parts) => parts.join("."));
  for (const other of [...changed, "", "hunter2", stored.slice(0, 20)]) {
    await expect(decryptSecret(using("key"), other, PLACE), other).rejects.toThrow();
  }
  expect(await decryptSecret(using("key"), stored, PLACE)).toBe("hunter2");
});

describe("during a key rotation", () => {
  test("the old key still decrypts, the new one encrypts", async () => {
    const old = await encryptSecret(using("old"), "hunter2", PLACE);
    expect(await decryptSecret(using("new,old"), old, PLACE)).toBe("hunter2");
    expect(await decryptSecret(using(" new , old "), old, PLACE)).toBe("hunter2");
    const young = await encryptSecret(using("new,old"), "hunter2", PLACE);
    expect(await decryptSecret(using("new"), young, PLACE)).toBe("hunter2");
    await expect(decryptSecret(using("old"), young, PLACE)).rejects.toThrow();
  });

  test("a missing key is given as the reason, without any secret", async () => {
    const stored = await encryptSecret(using("old"), "hunter2", PLACE);
    const refused = decryptSecret(using("new,newer"), stored, PLACE);
    await expect(refused).rejects.toThrow(/ENCRYPTION_KEY/);
    await expect(refused).rejects.not.toThrow(/hunter2|newer/);
  });

  test("the key id is not the key", async () => {
    const id = async (key: string) => (await encryptSecret(using(key), "x", PLACE)).split(".")[1]!;
    expect(await id("key")).toBe(await id("key"));
    expect(await id("key")).not.toBe(await id("key2"));
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode("key"))).toHex();
    expect(digest).not.toContain(await id("key"));
  });
});
