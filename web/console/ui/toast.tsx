import { signal } from "@preact/signals";
import { Icon } from "./icon.tsx";
import { CodeError, errorText } from "../api.ts";
import { Button, IconButton } from "./button.tsx";

interface ToastAction {
  label: string;
  run: () => void;
}

interface Toast {
  id: number;
  text: string;
  isError: boolean;
  action?: ToastAction | undefined;
}

const SHOWN_MS = 4_000;
/** A message with an action stays long enough to be read and clicked. */
const SHOWN_WITH_ACTION_MS = 10_000;
const toasts = signal<readonly Toast[]>([]);
let lastId = 0;

/**
 * Shows that something was done, for a few seconds. Errors from before are dismissed.
 * @param action a button of the message, such as one that undoes what was done.
 * @returns a function that dismisses it.
 */
export function showMessage(text: string, action?: ToastAction): () => void {
  dismissErrors();
  const id = show({ text, isError: false, action });
  setTimeout(() => dismiss(id), action ? SHOWN_WITH_ACTION_MS : SHOWN_MS);
  return () => dismiss(id);
}

/** Shows an error until the user dismisses it, opens another page or is online again, or an action succeeds. */
export function showError(error: unknown): void {
  show({ text: errorText(error), isError: true, action: error instanceof CodeError ? RELOAD : undefined });
}

const RELOAD: ToastAction = { label: "Reload", run: () => location.reload() };

/** Runs an action, and shows that it is done or why it failed. @returns whether it succeeded. */
export async function attempt(action: () => Promise<unknown>, done?: string): Promise<boolean> {
  try {
    await action();
  } catch (error) {
    showError(error);
    return false;
  }
  dismissErrors();
  if (done !== undefined) showMessage(done);
  return true;
}

addEventListener("online", dismissErrors);

/** Dismisses the errors, when their cause has gone. */
export function dismissErrors(): void {
  if (toasts.peek().some(({ isError }) => isError)) toasts.value = toasts.peek().filter(({ isError }) => !isError);
}

function show(toast: Omit<Toast, "id">): number {
  const id = ++lastId;
  toasts.value = [...toasts.peek().filter(({ text }) => text !== toast.text), { id, ...toast }].slice(-3);
  return id;
}

function dismiss(id: number): void {
  toasts.value = toasts.peek().filter((toast) => toast.id !== id);
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, isError, action }) => (
        <div key={id} class={isError ? "toast error" : "toast"}>
          <Icon name={isError ? "alert" : "check"} size={16} />
          <span>{text}</span>
          {action && (
            <Button
              variant="quiet"
              onClick={() => {
                dismiss(id);
                action.run();
              }}
            >
              {action.label}
            </Button>
          )}
          <IconButton icon="close" label="Dismiss" onClick={() => dismiss(id)} />
        </div>
      ))}
    </div>
  );
}
