import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Button, IconButton } from "./button.tsx";
import { Toasts } from "./toast.tsx";

interface Props {
  title: string;
  onClose: () => void;
  /** Whether the user cannot close it. */
  isRequired?: boolean;
  isWide?: boolean;
  /** The question before it is closed by Esc, a click beside it or its cross. By default it is asked if a form in it was filled. */
  closeQuestion?: string | undefined;
  children: ComponentChildren;
}

/** The open dialogs, outermost first. */
export const openDialogs = signal<readonly symbol[]>([]);

/** What gets the focus first: a field or, in a question, the button that changes nothing. */
const FIRST_STOP = "input:not([type=hidden], :disabled), textarea, select, .actions > button";

/** A modal dialog. The browser traps the focus, and restores it when the dialog is closed. */
export function Dialog({ title, onClose, isRequired = false, isWide = false, closeQuestion, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isAsking, setAsking] = useState(false);
  const isFilled = useRef(false);
  const pressed = useRef<EventTarget | null>(null);
  const isTopmost = useOpenDialog(dialog);
  const close = () => {
    if (isRequired) return;
    if (closeQuestion !== undefined || isFilled.current) setAsking(true);
    else onClose();
  };
  return (
    <dialog
      ref={dialog}
      class={isWide ? "dialog is-wide" : "dialog"}
      aria-label={title}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.defaultPrevented || event.isComposing) return;
        // The browser would close the dialog at the second Esc, whatever a listener for `cancel` does.
        event.preventDefault();
        event.stopPropagation();
        close();
      }}
      onCancel={(event) => {
        // A file picker in it was cancelled.
        if (event.target !== dialog.current) return;
        event.preventDefault();
        close();
      }}
      onInput={({ target }) => {
        if ((target as HTMLInputElement).form) isFilled.current = true;
      }}
      onPointerDown={({ target }) => (pressed.current = target)}
      onClick={({ target }) => {
        // Who selects text may release the pointer beside the dialog.
        if (target === dialog.current && pressed.current === target) close();
      }}
    >
      <div class="dialog-body">
        <header>
          <h2>{title}</h2>
          {!isRequired && <IconButton icon="close" label="Close" onClick={close} />}
        </header>
        {children}
      </div>
      {isAsking && (
        <Confirm title="Close this dialog" confirm="Close" cancel="Stay" isDanger onClose={() => setAsking(false)} onConfirm={onClose}>
          <p>{closeQuestion ?? "What you entered is lost."}</p>
        </Confirm>
      )}
      {isTopmost && <Toasts />}
    </dialog>
  );
}

/** Opens the dialog while its component is shown. @returns whether no other dialog is above it. */
function useOpenDialog(dialog: { current: HTMLDialogElement | null }): boolean {
  const own = useRef(Symbol("dialog")).current;
  useEffect(() => {
    const element = dialog.current!;
    const opener = document.activeElement as HTMLElement | null;
    element.showModal();
    element.querySelector<HTMLElement>(FIRST_STOP)?.focus();
    openDialogs.value = [...openDialogs.peek(), own];
    return () => {
      element.close();
      // What opened the dialog may have been deleted by it.
      (opener?.isConnected ? opener : document.getElementById("main"))?.focus();
      openDialogs.value = openDialogs.peek().filter((other) => other !== own);
    };
  }, []);
  return openDialogs.value.at(-1) === own;
}

interface ConfirmProps {
  title: string;
  confirm: string;
  cancel?: string;
  isDanger?: boolean;
  isDisabled?: boolean;
  /** The button is busy until what it returns is settled. */
  onConfirm: () => unknown;
  onClose: () => void;
  children: ComponentChildren;
}

/** Asks the user to confirm an action. */
export function Confirm({
  title,
  confirm,
  cancel = "Cancel",
  isDanger = false,
  isDisabled = false,
  onConfirm,
  onClose,
  children,
}: ConfirmProps) {
  const [isBusy, setBusy] = useState(false);
  const run = async () => {
    setBusy(true);
    try {
      await onConfirm();
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      <footer class="actions">
        <Button onClick={onClose}>{cancel}</Button>
        <Button variant={isDanger ? "danger" : "primary"} isBusy={isBusy} disabled={isDisabled} onClick={() => void run()}>
          {confirm}
        </Button>
      </footer>
    </Dialog>
  );
}

interface DeleteDialogProps extends Pick<ConfirmProps, "title" | "onClose" | "children"> {
  onDelete: () => unknown;
}

/** Asks the user to confirm a deletion. */
export function DeleteDialog({ onDelete, ...props }: DeleteDialogProps) {
  return <Confirm {...props} confirm="Delete" isDanger onConfirm={onDelete} />;
}
