import { signal } from "@preact/signals";
import type { Schemas } from "../../client/index.ts";
import { ACCESS_COOKIE, type SignInProblem } from "../../src/console/protocol.ts";
import { noteSignIn, request, whenRefused } from "./api.ts";

export type Scope = Schemas["KeyIntrospection"]["api_key"]["scopes"][number];

interface WorkspaceTarget {
  kind: "workspace";
  workspace: { id: string; name: string; slug: string; plan: string };
  /** The member who signs in; null for an API key. */
  member: { id: string; name: string; email: string; role: Schemas["Member"]["role"] } | null;
}

/** Where a key, the operator's token or a sign-in link signs in. */
type Target = WorkspaceTarget | { kind: "operator" };

/** Where a link signs in. That of a member may be in a mail that the member asked for, and a new member gives a name. */
type LinkTarget = Omit<WorkspaceTarget, "member"> & {
  method?: "invitation" | "mail";
  member?: (Omit<NonNullable<WorkspaceTarget["member"]>, "id"> & { id: string | null; is_new: boolean }) | null;
};

/** The key that is signed in or, for a member, the session. */
interface Key {
  id: string;
  name: string;
  scopes: Scope[];
  /** Whether it may do what only owners may. */
  is_owner: boolean;
}

interface WorkspaceSession extends WorkspaceTarget {
  key: Key;
  /** Whether a language model writes the answers. Otherwise they quote the knowledge. */
  has_language_model: boolean;
}

export type Session = (WorkspaceSession | { kind: "operator" }) & { name: string; expires_at: string };

/** The key in localStorage for the name of the user. */
export const NAME = "console.name";

/** The current session; null if nobody is signed in, undefined until that is known. */
export const session = signal<Session | null | undefined>(undefined);
/** Whether the session has ended while a page was open. The page stays open, so that unsent text is not lost. */
export const hasEnded = signal(false);

/** The key in localStorage for the short name of the workspace that was signed in to last. */
const WORKSPACE = "console.workspace";

/** How somebody signs in: at the workspace's provider, through Cloudflare Access, with a link by mail, or with a key. */
export type Method = Schemas["SignInSettings"]["methods"][number];

/** What the sign-in page says of each problem. */
const PROBLEMS: Record<string, string> = {
  access: "Cloudflare Access did not say who you are. Ask the operator of this service to check whether Access protects the sign-in.",
  expired: "The sign-in took too long, or began in another window. Try again.",
  off: "This workspace has no such sign-in. Check its short name, or sign in in another way.",
  provider: "Your company’s sign-in could not be completed. Try again, or ask an owner of the workspace to check its settings.",
  refused: "This account cannot sign in here. Ask an owner of the workspace for an invitation.",
} satisfies Record<SignInProblem, string>;

/** Returns the short name of the workspace to sign in to: the one in the address, or the one that was used last. */
export function knownWorkspace(): string {
  return new URLSearchParams(location.search).get("workspace") ?? localStorage.getItem(WORKSPACE) ?? "";
}

/** Returns the ways in which people sign in to a workspace. One that is unknown is said to have the default. */
export async function methodsOf(workspace: string): Promise<readonly Method[]> {
  return (await request<{ methods: Method[] }>("GET", `/console/sign-in?workspace=${encodeURIComponent(workspace)}`)).methods;
}

/** Leaves the page for the provider of a workspace. */
export function leaveForProvider(workspace: string): void {
  localStorage.setItem(WORKSPACE, workspace);
  location.assign(`/console/sign-in/oidc?workspace=${encodeURIComponent(workspace)}`);
}

/** How long somebody may take on the login page of Cloudflare Access. */
const ACCESS_SECONDS = 600;

/** Leaves the page for Cloudflare Access. The cookie tells the service that this page began the sign-in, and for which workspace. */
export function leaveForAccess(workspace: string): void {
  localStorage.setItem(WORKSPACE, workspace);
  const [prefix, secure] = location.protocol === "https:" ? ["__Host-", "; Secure"] : ["", ""];
  document.cookie = `${prefix}${ACCESS_COOKIE}=${workspace}; Path=/; Max-Age=${ACCESS_SECONDS}; SameSite=Lax${secure}`;
  location.assign(`/console/sign-in/access?workspace=${encodeURIComponent(workspace)}`);
}

/** Asks for a mail with a sign-in link. Whether it is sent is not told. */
export async function askForMail(workspace: string, email: string): Promise<void> {
  localStorage.setItem(WORKSPACE, workspace);
  await request("POST", "/console/sign-in/mail", { workspace, email });
}

/** Takes from the address bar why a sign-in outside this page failed, as a sentence. */
export function takeProblem(): string | undefined {
  const code = new URLSearchParams(location.hash.slice(1)).get("problem");
  if (code === null) return undefined;
  history.replaceState(null, "", location.pathname + location.search);
  return PROBLEMS[code];
}

interface SignInLink {
  token: string;
  /** The proposed name of the user. */
  name: string;
  target: LinkTarget | { kind: "operator" };
}

/** A sign-in link that the user has yet to confirm: a link from a stranger would otherwise replace the session unnoticed. */
export const signInLink = signal<SignInLink>();

/** Reads a sign-in link and the name that it proposes from the address bar, and removes them there. */
function takeLink(): Omit<SignInLink, "target"> | undefined {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const token = parameters.get("sign-in");
  if (token === null) return undefined;
  history.replaceState(null, "", location.pathname);
  return { token, name: localStorage.getItem(NAME) ?? parameters.get("name") ?? "" };
}

/** Loads the session, and what a sign-in link in the address bar signs in to. @throws ApiError if the link is refused. */
export async function loadSession(): Promise<void> {
  const link = takeLink();
  session.value = await request<Session>("GET", "/console/session").catch(() => null);
  if (link)
    signInLink.value = { ...link, target: await request<SignInLink["target"]>("POST", "/console/links/read", { link: link.token }) };
}

/** The name of a workspace with the slug, which no other workspace has; "the operator's console" for the operator. */
export function nameOf(target: Target | SignInLink["target"]): string {
  return target.kind === "operator" ? "the operator's console" : `${target.workspace.name} (${target.workspace.slug})`;
}

/** @throws ApiError if the credential is neither a key nor the operator's token, or if the link has been used. */
export async function signIn(credential: { secret: string } | { link: string }, name: string): Promise<void> {
  const next = await request<Session>("POST", "/console/session", { ...credential, name });
  signInLink.value = undefined;
  localStorage.setItem(NAME, next.name);
  if (next.kind === "workspace" && next.member) localStorage.setItem(WORKSPACE, next.workspace.slug);
  goOnWith(next);
}

/** Goes on with the session that was begun in another tab. @throws ApiError if there is none. */
export async function resume(): Promise<void> {
  goOnWith(await request<Session>("GET", "/console/session"));
}

function goOnWith(next: Session): void {
  noteSignIn();
  const isSame = keyOf(session.value) === keyOf(next);
  session.value = next;
  hasEnded.value = false;
  // Another key may not see what this page shows.
  if (!isSame && location.hash !== "") location.hash = "";
}

/** Identifies who is signed in; undefined if nobody is. */
export function keyOf(of: Session | null | undefined): string | undefined {
  if (!of) return undefined;
  return of.kind === "workspace" ? (of.member ?? of.key).id : "operator";
}

let isSigningOut = false;

export async function signOut(): Promise<void> {
  isSigningOut = true;
  try {
    await request("DELETE", "/console/session");
    session.value = null;
    hasEnded.value = false;
    location.hash = "";
  } finally {
    isSigningOut = false;
  }
}

/** Asks the user to sign in again, above the page. */
export function endSession(): void {
  if (session.value && !isSigningOut) hasEnded.value = true;
}

whenRefused(endSession);

export function hasScope(scope: Scope): boolean {
  return session.value?.kind === "workspace" && session.value.key.scopes.includes(scope);
}

export function hasLanguageModel(): boolean {
  return session.value?.kind === "workspace" && session.value.has_language_model;
}

/** The member who is signed in; null with an API key and for the operator. */
export function ownMember() {
  return session.value?.kind === "workspace" ? session.value.member : null;
}

/** Returns the signed-in user as an assignee. The name is empty if the user gave none. */
export function me(): { id: string; name: string } {
  const member = ownMember();
  if (member) return { id: member.id, name: member.name };
  const name = session.value?.name ?? "";
  return { id: name || (session.value?.kind === "workspace" ? session.value.key.id : ""), name };
}

/** Returns the signed-in user as an author; null if the user gave no name. */
export function author(): { id: string; name: string } | null {
  return me().name === "" ? null : me();
}
