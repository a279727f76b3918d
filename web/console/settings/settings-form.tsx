import type { ComponentChildren } from "preact";
import { Button } from "../ui/button.tsx";
import { FieldError } from "../ui/field.tsx";
import { type ErrorAt, useForm } from "../ui/form.ts";

interface Props {
  title: string;
  /** @param text returns the text of a field. */
  onSave: (text: (name: string) => string) => Promise<unknown>;
  /** Whether the fields are only shown. */
  isReadOnly?: boolean;
  /** Renders the fields. */
  children: (errorAt: ErrorAt) => ComponentChildren;
}

/** A card of settings that are saved together. */
export function SettingsForm({ title, onSave, isReadOnly = false, children }: Props) {
  const { error, errorAt, isBusy, onSubmit } = useForm(({ text }) => onSave(text));
  return (
    <form class="card" onSubmit={onSubmit}>
      <h2>{title}</h2>
      {isReadOnly ? <fieldset disabled>{children(errorAt)}</fieldset> : children(errorAt)}
      <FieldError text={error} />
      {!isReadOnly && (
        <div class="actions">
          <Button variant="primary" type="submit" isBusy={isBusy}>
            Save
          </Button>
        </div>
      )}
    </form>
  );
}
