import { useEffect, useState } from "preact/hooks";
import { ApiError } from "../../client/index.ts";
import {
  askForMail,
  knownWorkspace,
  leaveForAccess,
  leaveForProvider,
  type Method,
  methodsOf,
  NAME,
  nameOf,
  resume,
  session,
  signIn,
  signInLink,
} from "./session.ts";
import { errorText, InputError } from "./api.ts";
import { consentRequest } from "./consent-request.ts";
import { Button } from "./ui/button.tsx";
import { Dialog } from "./ui/dialog.tsx";
import { FieldError, TextField } from "./ui/field.tsx";
import { useForm } from "./ui/form.ts";
import { attempt, showError } from "./ui/toast.tsx";

interface SignInFormProps {
  problem?: string | undefined;
  isFirst?: boolean;
  /** Called with the reason when a link is refused. The link is gone then, and with it the form. */
  onLinkRefused?: (problem: string) => void;
}

function SignInForm({ problem, isFirst = true, onLinkRefused }: SignInFormProps) {
  const link = signInLink.value;
  const member = link && memberOfLink(link.target);
  const asksForName = member === undefined || member.is_new;
  const { error, isBusy, onSubmit } = useForm(async ({ text }) => {
    try {
      const name = asksForName ? text("name") : "";
      await signIn(link === undefined ? { secret: text("secret") } : { link: link.token }, name);
    } catch (failure) {
      // A link that is invalid cannot be used again, so that the form asks for the key instead, or the session goes on.
      if (link !== undefined && failure instanceof ApiError && failure.status === 401) {
        signInLink.value = undefined;
        if (session.value) showError(failure);
        else onLinkRefused?.(errorText(failure));
      }
      throw failure;
    }
  }, problem);
  return (
    <form class="stack" onSubmit={onSubmit}>
      {link === undefined && (
        <TextField
          label="API key or operator token"
          name="secret"
          type="password"
          autoComplete="current-password"
          required
          autoFocus={isFirst}
          error={error}
          hint="A workspace's key shows what its scopes allow. It is exchanged for a session of 12 hours and not kept in this browser."
        />
      )}
      {asksForName ? (
        <TextField
          label="Your name"
          name="name"
          autoComplete="name"
          maxLength={100}
          error={link === undefined ? undefined : error}
          autoFocus={link !== undefined}
          required={link !== undefined}
          defaultValue={member?.name || link?.name || session.value?.name || localStorage.getItem(NAME) || ""}
          hint="Your colleagues and the visitors you reply to see it."
        />
      ) : (
        <FieldError text={error} />
      )}
      <Button variant={isFirst ? "primary" : "plain"} type="submit" isBusy={isBusy} autoFocus={!asksForName}>
        Sign in
      </Button>
      {link !== undefined && (
        <Button onClick={() => (signInLink.value = undefined)}>{session.value ? "Keep my session" : "Use an API key instead"}</Button>
      )}
    </form>
  );
}

/** The member whom a link signs in; undefined for a key or the operator's token. */
function memberOfLink(target: NonNullable<typeof signInLink.value>["target"]) {
  return (target.kind === "workspace" && target.member) || undefined;
}

/** @param problem why the sign-in link failed. */
export function SignIn({ problem }: { problem?: string | undefined }) {
  const [linkProblem, setLinkProblem] = useState<string>();
  const target = signInLink.value?.target;
  const member = target && memberOfLink(target);
  const isMailed = target?.kind === "workspace" && target.method === "mail";
  return (
    <main class="sign-in">
      <h1>Support Agent Service</h1>
      {consentRequest.value !== undefined && <p>An application wants to be connected. Sign in as a member of your team first.</p>}
      {target && (
        <p>
          You opened a link that signs you in to <strong>{nameOf(target)}</strong>
          {member && (
            <>
              {" "}
              as a member of its team, with the address <strong>{member.email}</strong>
            </>
          )}
          .{" "}
          {session.value && (
            <>
              It replaces your session in <strong>{nameOf(session.value)}</strong>.{" "}
            </>
          )}
          {isMailed
            ? "Continue only if you asked for this link, and know the workspace: its owners see what you write there."
            : "Continue only if you know who made the link: its maker sees what you write there."}
        </p>
      )}
      {signInLink.value ? (
        <SignInForm problem={problem} onLinkRefused={setLinkProblem} />
      ) : (
        <SignInMethods problem={linkProblem ?? problem} />
      )}
    </main>
  );
}

/** The sign-in of a team and the one with a key. The first is the one that somebody used last in this browser. */
function SignInMethods({ problem }: { problem?: string | undefined }) {
  const [workspace, setWorkspace] = useState(knownWorkspace);
  const [isTeamFirst] = useState(workspace !== "");
  const [methods, setMethods] = useState<readonly Method[]>();
  useEffect(() => {
    // The form asks again, so that a failure needs no message.
    if (isTeamFirst)
      void methodsOf(workspace).then(
        (found) => setMethods(hasTeamMethod(found) ? found : undefined),
        () => undefined,
      );
  }, []);
  const onFound = (slug: string, found: readonly Method[]) => {
    setWorkspace(slug);
    setMethods(found);
  };
  const shown = isTeamFirst ? problem : undefined;
  const team = methods ? (
    <TeamMethods workspace={workspace} methods={methods} isFirst={isTeamFirst} problem={shown} onLeave={() => setMethods(undefined)} />
  ) : (
    <WorkspaceForm workspace={workspace} isFirst={isTeamFirst} problem={shown} onFound={onFound} />
  );
  const allowsKey = methods?.includes("key") ?? true;
  const key = allowsKey ? (
    <SignInForm problem={isTeamFirst ? undefined : problem} isFirst={!isTeamFirst} />
  ) : (
    <Button onClick={() => setMethods(undefined)}>Use an operator token or another workspace’s key</Button>
  );
  return (
    <>
      {isTeamFirst ? team : key}
      <p class="or">or</p>
      {isTeamFirst ? key : team}
    </>
  );
}

function hasTeamMethod(methods: readonly Method[]): boolean {
  return methods.some((method) => method !== "key");
}

interface WorkspaceProps {
  workspace: string;
  isFirst: boolean;
  problem: string | undefined;
  onFound: (workspace: string, methods: readonly Method[]) => void;
}

/** Asks for the workspace, to show how its team signs in. */
function WorkspaceForm({ workspace: known, isFirst, problem, onFound }: WorkspaceProps) {
  const { error, errorAt, isBusy, onSubmit } = useForm(async ({ text }) => {
    const workspace = text("workspace").toLowerCase();
    const methods = await methodsOf(workspace);
    if (!hasTeamMethod(methods))
      throw new InputError("This workspace has only keys to sign in with. Check the short name, or use a key.", "workspace");
    onFound(workspace, methods);
  }, problem);
  return (
    <form class="stack" onSubmit={onSubmit}>
      <FieldError text={error} />
      <TextField
        label="Workspace"
        name="workspace"
        required
        maxLength={63}
        autoComplete="on"
        autoCapitalize="none"
        spellcheck={false}
        defaultValue={known}
        error={errorAt("workspace")}
        hint="Its short name, such as “acme-support”."
      />
      <Button variant={isFirst ? "primary" : "plain"} type="submit" isBusy={isBusy}>
        Continue as a member of the team
      </Button>
    </form>
  );
}

interface TeamProps {
  workspace: string;
  methods: readonly Method[];
  isFirst: boolean;
  problem: string | undefined;
  /** Called when somebody asks for another workspace. */
  onLeave: () => void;
}

/** The ways in which the team of a workspace signs in. */
function TeamMethods({ workspace, methods, isFirst, problem, onLeave }: TeamProps) {
  const first = (["oidc", "access", "mail"] as const).find((method) => methods.includes(method));
  const variant = (method: Method) => (isFirst && method === first ? "primary" : "plain");
  return (
    <section class="stack" aria-label={`Sign in to ${workspace}`}>
      <div class="card-top">
        <p>
          Workspace <strong>{workspace}</strong>
        </p>
        <Button variant="quiet" onClick={onLeave}>
          Change
        </Button>
      </div>
      <FieldError text={problem} />
      {methods.includes("oidc") && (
        <Button variant={variant("oidc")} onClick={() => leaveForProvider(workspace)}>
          Continue with your company account
        </Button>
      )}
      {methods.includes("access") && (
        <Button variant={variant("access")} onClick={() => leaveForAccess(workspace)}>
          Continue with Cloudflare Access
        </Button>
      )}
      {methods.includes("mail") && <MailForm workspace={workspace} variant={variant("mail")} />}
    </section>
  );
}

/** Asks for a link by mail. It says the same whether or not the address is known. */
function MailForm({ workspace, variant }: { workspace: string; variant: "primary" | "plain" }) {
  const [askedFor, setAskedFor] = useState<string>();
  const { error, errorAt, isBusy, onSubmit } = useForm(async ({ text }) => {
    await askForMail(workspace, text("email"));
    setAskedFor(text("email"));
  });
  return (
    <form class="stack" onSubmit={onSubmit}>
      <TextField
        label="Email"
        name="email"
        type="email"
        required
        maxLength={320}
        autoComplete="email"
        error={errorAt("email") ?? error}
        hint="You get a link that signs you in once."
      />
      <Button variant={variant} type="submit" isBusy={isBusy}>
        Mail me a link
      </Button>
      <p role="status">
        {askedFor &&
          `If ${askedFor} belongs to the team, a mail is on its way. Its link works for 15 minutes. If none arrives, ask an owner of the workspace.`}
      </p>
    </form>
  );
}

/** Asks the user to sign in again, above the page, which keeps its state. */
export function SignInAgain() {
  return (
    <Dialog title="Your session has ended" isRequired onClose={() => undefined}>
      <p>Sign in again to go on where you were. What you wrote is kept. As a member of the team, sign in in another tab, and come back.</p>
      <Button onClick={() => void attempt(resume)}>I have signed in</Button>
      <SignInForm />
    </Dialog>
  );
}
