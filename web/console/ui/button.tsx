import type { ComponentChildren, JSX } from "preact";
import { Icon, type IconName } from "./icon.tsx";

type Props = Omit<JSX.IntrinsicElements["button"], "icon" | "class"> & {
  variant?: "primary" | "plain" | "danger" | "quiet";
  icon?: IconName;
  /** Whether the action is in progress. The button is disabled meanwhile. */
  isBusy?: boolean;
  class?: string;
  children?: ComponentChildren;
};

export function Button({ variant = "plain", icon, isBusy = false, children, class: own = "", ...rest }: Props) {
  return (
    <button type="button" {...rest} class={`button ${variant} ${own}`} disabled={rest.disabled || isBusy} aria-busy={isBusy}>
      {icon && <Icon name={icon} size={16} />}
      {children}
    </button>
  );
}

/** A button with an icon and no text. The label is read aloud, and shown on hover. */
export function IconButton({
  icon,
  label,
  class: own = "",
  ...rest
}: { icon: IconName; label: string; class?: string } & Omit<JSX.IntrinsicElements["button"], "class">) {
  return (
    <button type="button" {...rest} class={`icon-button ${own}`} aria-label={label} title={label}>
      <Icon name={icon} size={18} />
    </button>
  );
}

/** The buttons of a record in a list. The name of the record is read aloud with each. */
export function RecordButtons({ name, onEdit, onDelete }: { name: string; onEdit: () => void; onDelete: () => void }) {
  return (
    <>
      <Button variant="quiet" aria-label={`Edit: ${name}`} onClick={onEdit}>
        Edit
      </Button>
      <Button variant="quiet" aria-label={`Delete: ${name}`} onClick={onDelete}>
        Delete
      </Button>
    </>
  );
}
