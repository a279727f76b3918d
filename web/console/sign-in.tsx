import { useEffect, useState } from "preact/hooks";
import { ApiError } from "../../client/index.ts";
import {
  knownWorkspace,
  leaveForProvider,
  memberOf,
  type Method,
  methodsOf,
  NAME,
  nameOf,
  session,
  signIn,
  signInLink,
} from "./session.ts";
import { errorText, InputError } from "./api.ts";
import { Button } from "./ui/button.tsx";
import { Dialog } from "./ui/dialog.tsx";
import { FieldError, TextField } from "./ui/field.tsx";
import { useForm } from "./ui/form.ts";
import { showError } from "./ui/toast.tsx";

interface SignInFormProps {
  problem?: string | undefined;
  isFirst?: boolean;
  /** Called with the reason when a link is refused. The link is gone then, and with it the form. */
  onLinkRefused?: (problem: string) => void;
}

function SignInForm({ problem, isFirst = true, onLinkRefused }: SignInFormProps) {
  const link = signInLink.value;
  const { error, isBusy, onSubmit } = useForm(async ({ text }) => {
    try {
      await signIn(link === undefined ? { secret: text("secret") } : { link: link.token }, text("name"));
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
      <TextField
        label="Your name"
        name="name"
        autoComplete="name"
        maxLength={100}
        error={link === undefined ? undefined : error}
        autoFocus={link !== undefined}
        required={link !== undefined}
        defaultValue={(link && memberOf(link.target)?.name) || link?.name || session.value?.name || localStorage.getItem(NAME) || ""}
        hint="Your colleagues and the visitors you reply to see it."
      />
      <Button variant={isFirst ? "primary" : "plain"} type="submit" isBusy={isBusy}>
        Sign in
      </Button>
      {link !== undefined && (
        <Button onClick={() => (signInLink.value = undefined)}>{session.value ? "Keep my session" : "Use an API key instead"}</Button>
      )}
    </form>
  );
}

/** @param problem why the sign-in link failed. */
export function SignIn({ problem }: { problem?: string | undefined }) {
  const [linkProblem, setLinkProblem] = useState<string>();
  const target = signInLink.value?.target;
  const member = target && memberOf(target);
  return (
    <main class="sign-in">
      <h1>Support Agent Service</h1>
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
          Continue only if you know who made the link: its maker sees what you write there.
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

/** The sign-in with a company account and with a key. The first is the one that somebody used last in this browser. */
function SignInMethods({ problem }: { problem?: string | undefined }) {
  const [workspace] = useState(knownWorkspace);
  const [methods, setMethods] = useState<readonly Method[]>();
  useEffect(() => {
    // The key signs in without this answer, so that a failure needs no message.
    if (workspace !== "") void methodsOf(workspace).then(setMethods, () => undefined);
  }, [workspace]);
  const isCompanyFirst = workspace !== "";
  const company = (
    <CompanyForm workspace={workspace} isFirst={isCompanyFirst} problem={isCompanyFirst ? problem : undefined} onFound={setMethods} />
  );
  const allowsKey = methods?.includes("key") ?? true;
  const key = allowsKey ? (
    <SignInForm problem={isCompanyFirst ? undefined : problem} isFirst={!isCompanyFirst} />
  ) : (
    <Button onClick={() => setMethods(undefined)}>Use an operator token or another workspace’s key</Button>
  );
  return (
    <>
      {isCompanyFirst ? company : key}
      <p class="or">or</p>
      {isCompanyFirst ? key : company}
    </>
  );
}

interface CompanyProps {
  workspace: string;
  isFirst: boolean;
  problem: string | undefined;
  onFound: (methods: readonly Method[]) => void;
}

/** Signs in at the provider of a workspace. */
function CompanyForm({ workspace: known, isFirst, problem, onFound }: CompanyProps) {
  const { error, errorAt, isBusy, onSubmit } = useForm(async ({ text }) => {
    const workspace = text("workspace").toLowerCase();
    const methods = await methodsOf(workspace);
    onFound(methods);
    if (methods.includes("oidc")) leaveForProvider(workspace);
    else throw new InputError("This workspace has no company account. Check the short name, or use a key.", "workspace");
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
        Continue with your company account
      </Button>
    </form>
  );
}

/** Asks the user to sign in again, above the page, which keeps its state. */
export function SignInAgain() {
  return (
    <Dialog title="Your session has ended" isRequired onClose={() => undefined}>
      <p>
        Sign in again to go on where you were. What you wrote is kept. With a company account or a sign-in link, sign in in another tab, and
        reload this page.
      </p>
      <SignInForm />
    </Dialog>
  );
}
