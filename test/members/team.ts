import { openBrowser, type Browser } from "../console/browser.ts";
import type { Workspace } from "../harness.ts";

/** A member who is signed in to the console. */
export interface SignedIn {
  id: string;
  email: string;
  browser: Browser;
  /** Calls the API as the member. */
  call(method: string, path: string, body?: unknown): ReturnType<Browser["call"]>;
}

let invited = 0;

/** Invites somebody. @returns the response. */
export function invite(by: Pick<Workspace, "call"> | SignedIn, role: string, more: Record<string, unknown> = {}) {
  return by.call("POST", "/members", { email: `member-${++invited}@example.com`, role, ...more });
}

/** Signs in with the link of an invitation. */
export async function accept(invitation: { url: string }, name = "Grace Hopper"): Promise<SignedIn> {
  const link = new URL(invitation.url).hash.slice("#sign-in=".length);
  const browser = openBrowser();
  const { status, body } = await browser.call("POST", "/console/session", { link, name });
  if (status !== 200) throw new Error(`The link was refused: ${JSON.stringify(body)}`);
  const { id, email } = body.member;
  return { id, email, browser, call: (method, path, sent) => browser.call(method, `/api/v1${path}`, sent) };
}

/** Adds a member who is signed in. */
export async function join(by: Pick<Workspace, "call"> | SignedIn, role: string, more: Record<string, unknown> = {}): Promise<SignedIn> {
  const { status, body } = await invite(by, role, more);
  if (status !== 201) throw new Error(`The invitation was refused: ${JSON.stringify(body)}`);
  return accept(body.invitation);
}
