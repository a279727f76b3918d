import type { ComponentChildren } from "preact";
import { Button } from "../ui/button.tsx";
import { useForm } from "../ui/form.ts";

interface Props {
  title: string;
  /** @param text returns the text of a field. It reports its own errors. */
  onSave: (text: (name: string) => string) => Promise<unknown>;
  children: ComponentChildren;
}

/** A card of settings that are saved together. */
export function SettingsForm({ title, onSave, children }: Props) {
  const { isBusy, onSubmit } = useForm(({ text }) => onSave(text));
  return (
    <form class="card" onSubmit={onSubmit}>
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
