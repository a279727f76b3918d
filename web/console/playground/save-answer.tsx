import { useState } from "preact/hooks";
import { api, errorText } from "../api.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { TextArea } from "../ui/field.tsx";
import { say } from "../ui/toast.tsx";
import { readForm } from "../ui/form.ts";

interface Props {
  agentId: string;
  question: string;
  answer: string;
  /** Saves it in place of a new answer of the agent. */
  save?: (body: { question: string; answer: string }) => Promise<unknown>;
  onClose: () => void;
  onSaved?: () => void;
}

/** Teaches the agent an answer: it is used from the next question on. */
export function SaveAnswer({ agentId, question, answer, save: saveAs, onClose, onSaved }: Props) {
  const [error, setError] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const save = async (event: SubmitEvent) => {
    const text = readForm(event);
    setBusy(true);
    try {
      const body = { question: text("question"), answer: text("answer") };
      await (saveAs ? saveAs(body) : api.createAnswer({ agent_id: agentId, body }));
      say("The agent knows this answer now");
      onSaved?.();
      onClose();
    } catch (failure) {
      setError(errorText(failure));
      setBusy(false);
    }
  };
  return (
    <Dialog title="Teach an answer" onClose={onClose}>
      <form class="stack" onSubmit={(event) => void save(event)}>
        <TextArea label="Question" name="question" required maxLength={2000} rows={2} defaultValue={question} error={error} />
        <TextArea
          label="Answer"
          name="answer"
          required
          maxLength={8000}
          rows={6}
          defaultValue={answer}
          hint="Markdown. Similar questions get it too."
        />
        <Button variant="primary" type="submit" isBusy={isBusy}>
          Save
        </Button>
      </form>
    </Dialog>
  );
}
