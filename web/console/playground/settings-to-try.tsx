import { useState } from "preact/hooks";
import { api, type Schemas } from "../api.ts";
import { Button } from "../ui/button.tsx";
import { Confirm } from "../ui/dialog.tsx";
import { ConfidenceField, TextArea, TextField } from "../ui/field.tsx";
import { attempt } from "../ui/toast.tsx";
import type { TriedSettings } from "./conversation.ts";

type AgentSettings = Schemas["AgentSettings"];

interface Props {
  agent: AgentSettings;
  /** The settings that differ from those of the agent. */
  tried: TriedSettings;
  onChange: (tried: TriedSettings) => void;
  onSaved: (agent: AgentSettings) => void;
}

/** The form for settings to try before they are saved for the agent. */
export function SettingsToTry({ agent, tried, onChange, onSaved }: Props) {
  const [isConfirming, setConfirming] = useState(false);
  const shown = { ...agent, ...tried };
  const change = (part: TriedSettings) => onChange(differenceFrom(agent, { ...tried, ...part }));
  const isChanged = Object.keys(tried).length > 0;
  const save = async () => {
    await attempt(async () => onSaved(await api.updateAgent({ agent_id: agent.id, body: tried })), "Saved");
    setConfirming(false);
  };
  return (
    <section class="card" aria-label="Settings to try">
      <h2>Settings to try</h2>
      <p class="quiet">
        Each question is asked twice: with the agent’s own settings, and with these. The agent keeps its own until you save.
      </p>
      <div class="columns">
        <TextArea
          label="Instructions"
          rows={5}
          maxLength={20_000}
          value={shown.instructions ?? ""}
          onInput={({ currentTarget: { value } }) => change({ instructions: value || null })}
          hint="Without a model they are not used."
        />
        <div class="stack">
          <ConfidenceField
            value={String(shown.confidence_threshold)}
            onInput={({ currentTarget }) => {
              // A number that is not yet complete is ignored.
              if (currentTarget.value !== "" && currentTarget.checkValidity())
                change({ confidence_threshold: currentTarget.valueAsNumber });
            }}
            hint="0 to 1."
          />
          <TextField
            label="Model"
            maxLength={200}
            value={shown.model ?? ""}
            placeholder="The deployment’s own"
            onInput={({ currentTarget: { value } }) => change({ model: value || null })}
          />
        </div>
      </div>
      <div class="actions">
        <Button disabled={!isChanged} onClick={() => onChange({})}>
          Reset
        </Button>
        <Button variant="primary" disabled={!isChanged} onClick={() => setConfirming(true)}>
          Save to the agent
        </Button>
      </div>
      {isConfirming && (
        <Confirm title={`Change “${agent.name}”`} confirm="Save" onClose={() => setConfirming(false)} onConfirm={save}>
          <p>It answers visitors with these settings from the next question on.</p>
        </Confirm>
      )}
    </section>
  );
}

/** Returns the settings that differ from those of the agent. */
function differenceFrom(agent: AgentSettings, tried: TriedSettings): TriedSettings {
  return Object.fromEntries(Object.entries(tried).filter(([name, value]) => value !== agent[name as keyof TriedSettings]));
}
