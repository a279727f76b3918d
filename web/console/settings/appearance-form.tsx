import { useState } from "preact/hooks";
import { Checkbox, Select, TextArea, TextField } from "../ui/field.tsx";
import { linesOf } from "../ui/form.ts";
import type { AgentSettings, SaveAgent } from "./agent-page.tsx";
import { ChatPreview } from "./chat-preview.tsx";
import { SettingsForm } from "./settings-form.tsx";

type Appearance = AgentSettings["appearance"];

const POSITIONS = [
  ["right", "Right"],
  ["left", "Left"],
] as const;
const LAUNCHERS = [
  ["icon", "An icon"],
  ["label", "An icon with a text"],
  ["hidden", "None: your page opens the chat"],
] as const;
const THEMES = [
  ["auto", "As the visitor’s system"],
  ["light", "Light"],
  ["dark", "Dark"],
] as const;
const MAX_SUGGESTIONS = 4;
const MAX_TEXT_LENGTH = 300;

/** The appearance of the chat, with a preview. */
export function AppearanceForm({ agent, save }: { agent: AgentSettings; save: SaveAgent }) {
  const [appearance, setAppearance] = useState<Appearance>(agent.appearance);
  const change = (part: Partial<Appearance>) => setAppearance({ ...appearance, ...part });
  const [lines, setLines] = useState(agent.appearance.suggestions.join("\n"));
  const suggestions = linesOf(lines);
  const problem = problemOf(suggestions);
  const shown = { ...appearance, suggestions: suggestions.slice(0, MAX_SUGGESTIONS) };
  const saveAppearance = () => save({ appearance: shown });
  return (
    <SettingsForm title="Appearance" onSave={saveAppearance}>
      {(errorAt) => (
        <>
          <div class="columns">
            <div class="stack">
              <TextField
                label="Accent"
                error={errorAt("appearance.accent")}
                type="color"
                value={appearance.accent}
                onInput={({ currentTarget }) => change({ accent: currentTarget.value })}
              />
              <TextField
                label="Greeting"
                error={errorAt("appearance.greeting")}
                maxLength={MAX_TEXT_LENGTH}
                value={appearance.greeting ?? ""}
                onInput={({ currentTarget }) => change({ greeting: currentTarget.value || null })}
              />
              <TextArea
                label="Suggested questions"
                rows={MAX_SUGGESTIONS}
                value={lines}
                onInput={({ currentTarget }) => setLines(currentTarget.value)}
                hint="One per line, at most four."
                error={problem ?? errorAt("appearance.suggestions")}
                // The browser refuses to send a form that has an invalid field.
                ref={(field) => field?.setCustomValidity(problem ?? "")}
              />
              <Select label="Launcher" options={LAUNCHERS} value={appearance.launcher} onChoose={(value) => change({ launcher: value })} />
              <Select label="Side" options={POSITIONS} value={appearance.position} onChoose={(value) => change({ position: value })} />
              <Select label="Theme" options={THEMES} value={appearance.theme} onChoose={(value) => change({ theme: value })} />
              <Checkbox
                label="Show “Powered by Support Agent”"
                checked={appearance.show_branding}
                onChange={({ currentTarget }) => change({ show_branding: currentTarget.checked })}
              />
            </div>
            <ChatPreview agent={agent} appearance={shown} />
          </div>
        </>
      )}
    </SettingsForm>
  );
}

/** Says why the suggested questions cannot be saved; undefined if they can. */
function problemOf(suggestions: readonly string[]): string | undefined {
  const surplus = suggestions.length - MAX_SUGGESTIONS;
  if (surplus > 0) return `The chat shows at most four suggestions: remove ${surplus === 1 ? "one" : surplus}.`;
  const at = suggestions.findIndex((text) => text.length > MAX_TEXT_LENGTH);
  return at < 0 ? undefined : `Line ${at + 1} is longer than ${MAX_TEXT_LENGTH} characters.`;
}
