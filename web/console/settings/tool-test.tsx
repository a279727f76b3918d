import { useState } from "preact/hooks";
import { api, errorText, type Schemas } from "../api.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { TextArea, TextField } from "../ui/field.tsx";
import { readForm } from "../ui/form.ts";
import { formatNumber } from "../ui/time.tsx";

const OUTCOME_WORDS: Record<Schemas["ToolTest"]["outcome"], string> = {
  answered: "Answered",
  refused: "Not called",
  failed: "Failed",
};

/** Calls a tool of an agent for real, and shows what the model would read. */
export function ToolTest({ agentId, name, onClose }: { agentId: string; name: string; onClose: () => void }) {
  const [result, setResult] = useState<Schemas["ToolTest"]>();
  const [error, setError] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const call = async (event: SubmitEvent) => {
    const text = readForm(event);
    setBusy(true);
    setResult(undefined);
    setError(undefined);
    try {
      const visitor = { external_id: text("external_id") || null, email: text("email") || null };
      const body = { arguments: JSON.parse(text("arguments")) as Record<string, unknown>, visitor };
      setResult(await api.testTool({ agent_id: agentId, tool_name: name, body }));
    } catch (failure) {
      setError(failure instanceof SyntaxError ? "This is not JSON." : errorText(failure));
    }
    setBusy(false);
  };
  return (
    <Dialog title={`Test ${name}`} onClose={onClose}>
      <form class="stack" onSubmit={(event) => void call(event)}>
        <p class="quiet">This calls your system: a tool that changes something changes it.</p>
        <TextArea
          label="Arguments"
          name="arguments"
          rows={4}
          required
          defaultValue="{}"
          hint='As JSON, such as {"order": "4711"}.'
          error={error}
        />
        <TextField label="Visitor’s id" name="external_id" maxLength={128} hint="Whom the tool takes for the visitor, by your own id." />
        <TextField label="Visitor’s email" name="email" type="email" />
        <Button variant="primary" type="submit" isBusy={isBusy}>
          Call
        </Button>
        {result && (
          <div role="status">
            <p>
              <strong>{OUTCOME_WORDS[result.outcome]}</strong>{" "}
              <span class="quiet">
                {result.status !== null && `Status ${result.status}, `}
                {formatNumber(result.duration_ms)} ms
              </span>
            </p>
            <pre>{result.text}</pre>
          </div>
        )}
      </form>
    </Dialog>
  );
}
