import { signal } from "@preact/signals";
import type { Schemas } from "../../client/index.ts";
import { request, whenRefused } from "./api.ts";

export type Scope = Schemas["KeyIntrospection"]["api_key"]["scopes"][number];

interface WorkspaceSession {
  kind: "workspace";
  name: string;
  expires_at: string;
  workspace: { id: string; name: string; slug: string; plan: string };
  key: { id: string; name: string; scopes: Scope[] };
}

interface OperatorSession {
  kind: "operator";
  name: string;
  expires_at: string;
}

export type Session = WorkspaceSession | OperatorSession;

/** Where the browser keeps what the person is called. */
export const NAME = "console.name";

/** Who is signed in; null for nobody, undefined until that is known. */
export const session = signal<Session | null | undefined>(undefined);
/** Whether the session ended while a page was open. The page stays, so that what was written is kept. */
export const hasEnded = signal(false);

/** A sign-in link that waits for the name of who opened it. */
export const namelessLink = signal<string>();

/** What a link in the address signs in with, and the name that it proposes; taken out of the address bar. */
function takeLink(): { link: string; name: string } | undefined {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const link = parameters.get("sign-in");
  if (link === null) return undefined;
  history.replaceState(null, "", location.pathname);
  return { link, name: localStorage.getItem(NAME) ?? parameters.get("name") ?? "" };
}

/** Finds out who is signed in; a sign-in link in the address signs in. */
export async function loadSession(): Promise<void> {
  const link = takeLink();
  if (link?.name === "") {
    namelessLink.value = link.link;
    session.value = null;
    return;
  }
  try {
    session.value = link === undefined ? await request<Session>("GET", "/console/session") : await signInWith(link);
  } catch (error) {
    session.value = null;
    if (link !== undefined) throw error;
  }
}

/** @throws ApiError for what is neither a key nor the operator's token, and for a link that was used. */
export async function signIn(credential: { secret: string } | { link: string }, name: string): Promise<void> {
  const next = await signInWith({ ...credential, name });
  namelessLink.value = undefined;
  localStorage.setItem(NAME, name);
  const isSame = session.value && keyOf(session.value) === keyOf(next);
  session.value = next;
  hasEnded.value = false;
  // What another key may see must not stay on the page.
  if (!isSame && location.hash !== "") location.hash = "";
}

function signInWith(credential: ({ secret: string } | { link: string }) & { name: string }): Promise<Session> {
  return request<Session>("POST", "/console/session", credential);
}

function keyOf(of: Session): string {
  return of.kind === "workspace" ? of.key.id : "operator";
}

export async function signOut(): Promise<void> {
  await request("DELETE", "/console/session");
  session.value = null;
  hasEnded.value = false;
  location.hash = "";
}

whenRefused(() => {
  if (session.value) hasEnded.value = true;
});

export function hasScope(scope: Scope): boolean {
  return session.value?.kind === "workspace" && session.value.key.scopes.includes(scope);
}
