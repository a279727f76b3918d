import { InputError } from "../api.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { FormEnd, TextField } from "../ui/field.tsx";
import { useForm } from "../ui/form.ts";

interface Props {
  /** Whether the conversation is snoozed already. */
  isSnoozed: boolean;
  /** Called with the time until which the conversation is snoozed; null ends the snooze. */
  onSnooze: (until: string | null) => Promise<void>;
  onClose: () => void;
}

const MORNING_HOUR = 9;

/** Returns nine o'clock in the morning of a later day. */
function morningIn(days: number): Date {
  const date = new Date();
  date.setDate(date.getDate() + days);
  date.setHours(MORNING_HOUR, 0, 0, 0);
  return date;
}

/** The times that are proposed. On a Monday, the next one is a week away. */
function proposals(): [title: string, at: Date][] {
  return [
    ["In an hour", new Date(Date.now() + 3_600_000)],
    ["Tomorrow morning", morningIn(1)],
    ["Monday morning", morningIn((8 - new Date().getDay()) % 7 || 7)],
  ];
}

/** Asks until when a conversation is hidden from the lists of waiting ones. */
export function SnoozeDialog({ isSnoozed, onSnooze, onClose }: Props) {
  const form = useForm(({ text }) => {
    const at = new Date(text("until"));
    if (Number.isNaN(at.getTime()) || at.getTime() <= Date.now()) throw new InputError("Choose a time in the future.", "until");
    return onSnooze(at.toISOString());
  });
  return (
    <Dialog title="Snooze" onClose={onClose}>
      <p class="quiet">It leaves the lists until then, or until the visitor writes.</p>
      <div class="actions">
        {proposals().map(([title, at]) => (
          <Button key={title} title={timeOf(at)} onClick={() => void onSnooze(at.toISOString())}>
            {title}
          </Button>
        ))}
        {isSnoozed && <Button onClick={() => void onSnooze(null)}>End the snooze</Button>}
      </div>
      <form class="stack" onSubmit={form.onSubmit}>
        <TextField label="Until" name="until" type="datetime-local" required error={form.errorAt("until")} />
        <FormEnd form={form}>Snooze</FormEnd>
      </form>
    </Dialog>
  );
}

/** A time as the messages of the console show it. */
export function timeOf(at: Date): string {
  return at.toLocaleString(undefined, { weekday: "short", day: "numeric", month: "short", hour: "numeric", minute: "2-digit" });
}
