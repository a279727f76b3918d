import { useState } from "preact/hooks";
import { ApiError } from "../../client/index.ts";
import { errorText } from "./api.ts";
import { NAME, namelessLink, session, signIn } from "./session.ts";
import { Button } from "./ui/button.tsx";
import { Dialog } from "./ui/dialog.tsx";
import { TextField } from "./ui/field.tsx";
import { readForm } from "./ui/form.ts";

function SignInForm({ problem }: { problem?: string | undefined }) {
  const [error, setError] = useState(problem);
  const [isBusy, setBusy] = useState(false);
  const link = namelessLink.value;
  const submit = async (event: SubmitEvent) => {
    const text = readForm(event);
    setBusy(true);
    setError(undefined);
    try {
      await signIn(link === undefined ? { secret: text("secret") } : { link }, text("name"));
    } catch (failure) {
      setError(errorText(failure));
      // A link that was refused is worth nothing, and asks for the key instead.
      if (failure instanceof ApiError) namelessLink.value = undefined;
    }
    setBusy(false);
  };
  return (
    <form class="stack" onSubmit={(event) => void submit(event)}>
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
        defaultValue={session.value?.name ?? localStorage.getItem(NAME) ?? ""}
        hint="Your colleagues and the visitors you reply to see it."
      />
      <Button variant="primary" type="submit" isBusy={isBusy}>
        Sign in
      </Button>
    </form>
  );
}

/** @param problem why a sign-in link did not work. */
export function SignIn({ problem }: { problem?: string | undefined }) {
  return (
    <main class="sign-in">
      <h1>Support Agent Service</h1>
      <SignInForm problem={problem} />
    </main>
  );
}

/** Asks to sign in again over the page, which keeps what was written on it. */
export function SignInAgain() {
  return (
    <Dialog title="Your session has ended" isRequired onClose={() => undefined}>
      <p>Sign in again to go on where you were. What you wrote is kept.</p>
      <SignInForm />
    </Dialog>
  );
}
