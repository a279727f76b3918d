import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Button, IconButton } from "./button.tsx";

interface Props {
  title: string;
  onClose: () => void;
  /** Whether the user cannot close it. */
  isRequired?: boolean;
  isWide?: boolean;
  children: ComponentChildren;
}

/** A modal dialog. The browser traps the focus, closes the dialog on Esc, and then restores the focus. */
export function Dialog({ title, onClose, isRequired = false, isWide = false, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog
      ref={dialog}
      class={isWide ? "dialog is-wide" : "dialog"}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        if (!isRequired) onClose();
      }}
      onClick={(event) => {
        if (event.target === dialog.current && !isRequired) onClose();
      }}
    >
      <div class="dialog-body">
        <header>
          <h2>{title}</h2>
          {!isRequired && <IconButton icon="close" label="Close" onClick={onClose} />}
        </header>
        {children}
      </div>
    </dialog>
  );
}

interface ConfirmProps {
  title: string;
  confirm: string;
  isDanger?: boolean;
  isBusy?: boolean;
  isDisabled?: boolean;
  onConfirm: () => void;
  onClose: () => void;
  children: ComponentChildren;
}

/** Asks the user to confirm an action. */
export function Confirm({
  title,
  confirm,
  isDanger = false,
  isBusy = false,
  isDisabled = false,
  onConfirm,
  onClose,
  children,
}: ConfirmProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      <footer class="actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button variant={isDanger ? "danger" : "primary"} isBusy={isBusy} disabled={isDisabled} onClick={onConfirm}>
          {confirm}
        </Button>
      </footer>
    </Dialog>
  );
}
