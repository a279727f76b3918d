import type { ComponentChildren } from "preact";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { attempt } from "./toast.tsx";

/** A text to be copied, such as a secret or a snippet. */
export function Secret({ value }: { value: string }) {
  const copy = () => attempt(() => navigator.clipboard.writeText(value), "Copied");
  return (
    <div class="secret">
      <pre tabIndex={0}>{value}</pre>
      <Button onClick={() => void copy()}>Copy</Button>
    </div>
  );
}

interface Props {
  title: string;
  secret: string;
  onClose: () => void;
  children?: ComponentChildren;
}

/** Shows a new secret, once. */
export function SecretDialog({ title, secret, onClose, children }: Props) {
  return (
    <Dialog title={title} onClose={onClose} closeQuestion="Have you stored it? It cannot be shown again.">
      <p>{children} It is shown only once: store it with your other secrets.</p>
      <Secret value={secret} />
      <div class="actions">
        <Button variant="primary" onClick={onClose}>
          I have stored it
        </Button>
      </div>
    </Dialog>
  );
}
