/** An identity token of the page, or a function that gets one from the page's server. Without a token, nobody is identified. */
export type IdentitySource = string | undefined | (() => unknown);

/** The visitor waits for an answer while the page gets its token. */
const TIMEOUT_MS = 30_000;

/** The page has no identity token for its visitor, although it has one to identify. */
export class IdentityError extends Error {}

/**
 * Calls the function with which a page gets an identity token.
 * @throws IdentityError if it fails, returns something else than a token, or takes too long.
 */
export async function readIdentity(source: () => unknown): Promise<string | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("It took longer than 30 seconds.")), TIMEOUT_MS);
  });
  try {
    const token = (await Promise.race([source(), late])) ?? undefined;
    if (token !== undefined && typeof token !== "string") throw new Error("It returned something else than a text.");
    return token;
  } catch (error) {
    throw new IdentityError(`The function of identify failed. ${String(error)}`);
  } finally {
    clearTimeout(timer);
  }
}

/** Reads the claims of an identity token, which only the service verifies. */
export function claimsOf(token: string | undefined): { sub?: string; name?: string; email?: string } {
  try {
    const payload = atob(token!.split(".")[1]!.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(payload, (character) => character.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes)) as { sub?: string; name?: string; email?: string };
  } catch {
    return {};
  }
}
