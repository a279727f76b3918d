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

/** The key in localStorage for the name of the user. */
export const NAME = "console.name";

/** The current session; null if nobody is signed in, undefined until that is known. */
export const session = signal<Session | null | undefined>(undefined);
/** Whether the session has ended while a page was open. The page stays open, so that unsent text is not lost. */
export const hasEnded = signal(false);

/** A sign-in link whose user has yet to enter a name. */
export const namelessLink = signal<string>();

/** Reads a sign-in link and the name that it proposes from the address bar, and removes them there. */
function takeLink(): { link: string; name: string } | undefined {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const link = parameters.get("sign-in");
  if (link === null) return undefined;
  history.replaceState(null, "", location.pathname);
  return { link, name: localStorage.getItem(NAME) ?? parameters.get("name") ?? "" };
}

/** Loads the session, or signs in with a link in the address bar. @throws ApiError if the link is refused. */
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

/** @throws ApiError if the credential is neither a key nor the operator's token, or if the link has been used. */
export async function signIn(credential: { secret: string } | { link: string }, name: string): Promise<void> {
  const next = await signInWith({ ...credential, name });
  namelessLink.value = undefined;
  localStorage.setItem(NAME, name);
  const isSame = session.value && keyOf(session.value) === keyOf(next);
  session.value = next;
  hasEnded.value = false;
  // Another key may not see what this page shows.
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
