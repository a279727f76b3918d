import { BASE64URL } from "../platform/crypto/base64url.ts";
import { sha256Hex } from "../platform/crypto/hashes.ts";
import { decryptSecret, encryptSecret } from "../platform/crypto/secrets.ts";
import type { SignInMethod } from "../platform/db/columns.ts";

/** What a sign-in link contains: an API key or the operator's token, a member, or a verified address. */
export type LinkTarget = { credential: string } | MemberLink | AddressLink;

/** The link of an invitation, for the member as of a time: a sign-in or any change of the member ends it. */
export interface MemberLink {
  workspaceId: string;
  memberId: string;
  updatedAt: number;
}

/** The content of a link that a person has asked to receive by mail. The member is looked up by the address when the link is used. */
export interface AddressLink {
  workspaceId: string;
  /** In lower case. */
  email: string;
}

const TOKEN_BYTES = 32;
const LINK_CONTEXT = "console/link";
const PENDING_CONTEXT = "console/oidc";
/** Separates the parts of a link without a credential: workspace, member or address, method, time. None of them, and no credential, has spaces. */
const SEPARATOR = " ";

/** Creates a token that signs in once, until a time in Unix milliseconds. */
export async function createLink(env: Env, target: LinkTarget, expiresAtMs: number): Promise<string> {
  const token = newToken();
  await linkOf(env, await sha256Hex(token)).begin(expiresAtMs, await encryptSecret(env, toText(target), LINK_CONTEXT));
  return token;
}

function toText(target: LinkTarget): string {
  if ("credential" in target) return target.credential;
  const parts =
    "email" in target
      ? [target.email, "mail" satisfies SignInMethod]
      : [target.memberId, "invitation" satisfies SignInMethod, target.updatedAt];
  return [target.workspaceId, ...parts].join(SEPARATOR);
}

/** Returns what a link signs in with; undefined if the link was used or has expired, or never existed. */
export async function readLink(env: Env, token: string): Promise<LinkTarget | undefined> {
  const sealed = await linkOf(env, await sha256Hex(token)).held();
  if (sealed === undefined) return undefined;
  const text = await decryptSecret(env, sealed, LINK_CONTEXT);
  const [workspaceId = "", who, method, updatedAt] = text.split(SEPARATOR);
  if (!who) return { credential: text };
  return method === ("mail" satisfies SignInMethod)
    ? { workspaceId, email: who }
    : { workspaceId, memberId: who, updatedAt: Number(updatedAt) };
}

/** Uses a link up. @returns false if it was used up before. */
export async function redeemLink(env: Env, token: string): Promise<boolean> {
  return (await linkOf(env, await sha256Hex(token)).end()) !== undefined;
}

/** Keeps what a sign-in at another site needs when it comes back, once, until a time in Unix milliseconds. @param state names the sign-in. */
export async function keepPending(env: Env, state: string, pending: object, expiresAtMs: number): Promise<void> {
  await pendingOf(env, await sha256Hex(state)).begin(expiresAtMs, await encryptSecret(env, JSON.stringify(pending), PENDING_CONTEXT));
}

/** Takes what was kept for a sign-in; undefined if it came back before, took too long, or never began. */
export async function takePending(env: Env, state: string): Promise<unknown> {
  const sealed = await pendingOf(env, await sha256Hex(state)).end();
  return sealed === undefined ? undefined : JSON.parse(await decryptSecret(env, sealed, PENDING_CONTEXT));
}

/** The address of the console that takes a link's token. */
export function linkUrl(requestUrl: string, token: string): string {
  return new URL(`/console/#sign-in=${token}`, requestUrl).href;
}

/** Creates a random token. */
export function newToken(): string {
  return BASE64URL.encode(crypto.getRandomValues(new Uint8Array(TOKEN_BYTES)));
}

function pendingOf(env: Env, stateHash: string) {
  return env.SIGN_IN.getByName(`oidc/${stateHash}`);
}

function linkOf(env: Env, tokenHash: string) {
  return env.SIGN_IN.getByName(`link/${tokenHash}`);
}
