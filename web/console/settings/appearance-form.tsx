import { useEffect, useState } from "preact/hooks";
import { WIDGET_LANGUAGES } from "../../../src/agents/widget-texts.ts";
import { contrastOf, textOn } from "../../shared/colour.ts";
import { chooseLanguage } from "../../widget/language.ts";
import { loadTexts } from "../../widget/texts.ts";
import { Icon } from "../ui/icon.tsx";
import { Checkbox, Select, TextArea, TextField } from "../ui/field.tsx";
import type { AgentSettings, SaveAgent } from "./agent-page.tsx";
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

/** The appearance of the chat, with a preview. */
export function AppearanceForm({ agent, save }: { agent: AgentSettings; save: SaveAgent }) {
  const [appearance, setAppearance] = useState<Appearance>(agent.appearance);
  const change = (part: Partial<Appearance>) => setAppearance({ ...appearance, ...part });
  const saveAppearance = () =>
    save({ appearance: { ...appearance, suggestions: appearance.suggestions.filter((text) => text.trim() !== "") } });
  return (
    <SettingsForm title="Appearance" onSave={saveAppearance}>
      <div class="columns">
        <div class="stack">
          <TextField
            label="Accent"
            type="color"
            value={appearance.accent}
            onInput={({ currentTarget }) => change({ accent: currentTarget.value })}
          />
          <TextField
            label="Greeting"
            maxLength={300}
            value={appearance.greeting ?? ""}
            onInput={({ currentTarget }) => change({ greeting: currentTarget.value || null })}
          />
          <TextArea
            label="Suggested questions"
            rows={MAX_SUGGESTIONS}
            value={appearance.suggestions.join("\n")}
            onInput={({ currentTarget }) => change({ suggestions: currentTarget.value.split("\n").slice(0, MAX_SUGGESTIONS) })}
            hint="One per line, at most four."
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
        <Preview agent={agent} appearance={appearance} />
      </div>
    </SettingsForm>
  );
}

/** A preview of the chat before the first question. */
function Preview({
  agent,
  appearance: { accent, greeting, suggestions, launcher, position, theme },
}: {
  agent: AgentSettings;
  appearance: Appearance;
}) {
  const ink = textOn(accent);
  const contrast = contrastOf(accent, ink);
  return (
    <div
      class="chat-preview"
      style={{ "--preview-accent": accent, "--preview-ink": ink, colorScheme: theme === "auto" ? "inherit" : theme }}
      aria-hidden="true"
    >
      <div class="preview-panel">
        <p class="preview-header">{agent.name}</p>
        <div class="preview-body">
          {greeting && <p class="big-greeting">{greeting}</p>}
          <p>{agent.welcome_message}</p>
          {suggestions.filter(Boolean).map((text) => (
            <p key={text} class="preview-suggestion">
              {text}
            </p>
          ))}
        </div>
      </div>
      {launcher !== "hidden" && (
        <div class={`preview-launcher ${position}`}>
          <Icon name="compose" size={24} />
          {launcher === "label" && <LauncherText agent={agent} />}
        </div>
      )}
      <p class="quiet">Contrast of text on the accent: {contrast.toFixed(1)} to 1</p>
    </div>
  );
}

/** The text of the launcher in the agent's language. */
function LauncherText({ agent: { language, languages } }: { agent: AgentSettings }) {
  const [text, setText] = useState("");
  useEffect(() => {
    const spoken = chooseLanguage([language], languages, WIDGET_LANGUAGES);
    void loadTexts(spoken, languages[spoken]).then(({ launcher_label: label }) => setText(label));
  }, [language, languages]);
  return <>{text}</>;
}
