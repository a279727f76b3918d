import { ApiError } from "../../client/index.ts";
import { memberOf, NAME, nameOf, session, signIn, signInLink } from "./session.ts";
import { Button } from "./ui/button.tsx";
import { Dialog } from "./ui/dialog.tsx";
import { TextField } from "./ui/field.tsx";
import { useForm } from "./ui/form.ts";
import { showError } from "./ui/toast.tsx";

function SignInForm({ problem }: { problem?: string | undefined }) {
  const link = signInLink.value;
  const { error, isBusy, onSubmit } = useForm(async ({ text }) => {
    try {
      await signIn(link === undefined ? { secret: text("secret") } : { link: link.token }, text("name"));
    } catch (failure) {
      // A link that is invalid cannot be used again, so that the form asks for the key instead, or the session goes on.
      if (link !== undefined && failure instanceof ApiError && failure.status === 401) {
        signInLink.value = undefined;
        if (session.value) showError(failure);
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
          autoFocus
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
      <Button variant="primary" type="submit" isBusy={isBusy}>
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
      <SignInForm problem={problem} />
    </main>
  );
}

/** Asks the user to sign in again, above the page, which keeps its state. */
export function SignInAgain() {
  return (
    <Dialog title="Your session has ended" isRequired onClose={() => undefined}>
      <p>
        Sign in again to go on where you were. What you wrote is kept. If you came by a sign-in link and have no key, ask for a new link,
        open it in another tab, and reload this page.
      </p>
      <SignInForm />
    </Dialog>
  );
}
