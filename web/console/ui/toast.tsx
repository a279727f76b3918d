import { signal } from "@preact/signals";
import { Icon } from "./icon.tsx";
import { errorText } from "../api.ts";
import { IconButton } from "./button.tsx";

interface Toast {
  id: number;
  text: string;
  isError: boolean;
}

const SHOWN_MS = 4_000;
const toasts = signal<readonly Toast[]>([]);
let lastId = 0;

/** Shows a message for a few seconds. */
export function showMessage(text: string): void {
  const id = show(text, false);
  setTimeout(() => dismiss(id), SHOWN_MS);
}

/** Shows an error until the user dismisses it. */
export function showError(error: unknown): void {
  show(errorText(error), true);
}

/** Runs an action, and shows that it is done or why it failed. @returns whether it succeeded. */
export async function attempt(action: () => Promise<unknown>, done?: string): Promise<boolean> {
  try {
    await action();
  } catch (error) {
    showError(error);
    return false;
  }
  if (done !== undefined) showMessage(done);
  return true;
}

function show(text: string, isError: boolean): number {
  const id = ++lastId;
  toasts.value = [...toasts.peek().filter((toast) => toast.text !== text), { id, text, isError }].slice(-3);
  return id;
}

function dismiss(id: number): void {
  toasts.value = toasts.peek().filter((toast) => toast.id !== id);
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, isError }) => (
        <div key={id} class={isError ? "toast error" : "toast"}>
          <Icon name={isError ? "alert" : "check"} size={16} />
          <span>{text}</span>
          <IconButton icon="close" label="Dismiss" onClick={() => dismiss(id)} />
        </div>
      ))}
    </div>
  );
}
