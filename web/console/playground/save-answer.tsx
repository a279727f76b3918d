import { api } from "../api.ts";
import { Dialog } from "../ui/dialog.tsx";
import { FormEnd, TextArea } from "../ui/field.tsx";
import { showMessage } from "../ui/toast.tsx";
import { useForm } from "../ui/form.ts";

interface Props {
  agentId: string;
  question: string;
  answer: string;
  /** Saves the answer. By default it is added to the curated answers of the agent. */
  save?: (body: { question: string; answer: string }) => Promise<unknown>;
  onClose: () => void;
  onSaved?: () => void;
}

/** Saves a curated answer, which the agent uses from the next question on. */
export function SaveAnswer({ agentId, question, answer, save, onClose, onSaved }: Props) {
  const form = useForm(async ({ text }) => {
    const body = { question: text("question"), answer: text("answer") };
    await (save ? save(body) : api.createAnswer({ agent_id: agentId, body }));
    showMessage("The agent knows this answer now");
    onSaved?.();
    onClose();
  });
  return (
    <Dialog title="Curated answer" onClose={onClose}>
      <form class="stack" onSubmit={form.onSubmit}>
        <TextArea
          label="Question"
          name="question"
          required
          maxLength={2000}
          rows={2}
          defaultValue={question}
          error={form.errorAt("question")}
        />
        <TextArea
          label="Answer"
          name="answer"
          required
          maxLength={8000}
          rows={6}
          defaultValue={answer}
          hint="Markdown. Similar questions get it too."
          error={form.errorAt("answer")}
        />
        <FormEnd form={form}>Save</FormEnd>
      </form>
    </Dialog>
  );
}
