import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../ui/button.tsx";
import { readForm } from "../ui/form.ts";

interface Props {
  title: string;
  /** Gets the texts of the fields by their names. */
  onSave: (text: (name: string) => string) => Promise<unknown>;
  children: ComponentChildren;
}

/** A card of settings that are saved together. */
export function SettingsForm({ title, onSave, children }: Props) {
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: SubmitEvent) => {
    const text = readForm(event);
    setBusy(true);
    await onSave(text);
    setBusy(false);
  };
  return (
    <form class="card" onSubmit={(event) => void submit(event)}>
      <h2>{title}</h2>
      {children}
      <div class="actions">
        <Button variant="primary" type="submit" isBusy={isBusy}>
          Save
        </Button>
      </div>
    </form>
  );
}
