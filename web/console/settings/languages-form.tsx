import { useState } from "preact/hooks";
import { directionOf, WIDGET_LANGUAGES, WIDGET_TEXTS, type WidgetLanguage, type WidgetText } from "../../../src/agents/widget-texts.ts";
import { loadTexts } from "../../widget/texts.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Checkbox, Select, TextField } from "../ui/field.tsx";
import { labelOf } from "../ui/format.tsx";
import type { AgentSettings, SaveAgent } from "./agent-page.tsx";
import { languageName } from "./languages.ts";
import { SettingsForm } from "./settings-form.tsx";

/** The languages that the chat offers, each with the texts that replace the default ones. */
type Languages = AgentSettings["languages"];

const MAX_TEXT_LENGTH = 300;

/** The languages of the chat, and texts in the team's own words. */
export function LanguagesForm({ agent, save }: { agent: AgentSettings; save: SaveAgent }) {
  const [languages, setLanguages] = useState<Languages>(agent.languages);
  const spoken = Object.keys(languages) as WidgetLanguage[];
  const speak = (language: string, isSpoken: boolean) => {
    const { [language]: _, ...others } = languages;
    setLanguages(isSpoken ? { ...languages, [language]: {} } : others);
  };
  const setText = (language: string, name: string, text: string) =>
    setLanguages((before) => ({ ...before, [language]: { ...before[language], [name]: text } }));
  const removeText = (language: string, name: string) => {
    const { [name]: _, ...others } = languages[language]!;
    setLanguages({ ...languages, [language]: others });
  };
  return (
    <SettingsForm title="Languages of the chat" onSave={() => save({ languages: withoutEmpty(languages) })}>
      {(errorAt) => (
        <>
          <fieldset>
            <legend>Languages that the chat offers</legend>
            <p class="hint">
              The chat uses the language of your page, or else of the visitor’s browser, or else of the agent. If none is checked, it offers
              all.
            </p>
            <div class="choices">
              {WIDGET_LANGUAGES.map((language) => (
                <Checkbox
                  key={language}
                  label={languageName(language)}
                  checked={spoken.includes(language)}
                  onChange={({ currentTarget }) => speak(language, currentTarget.checked)}
                />
              ))}
            </div>
          </fieldset>
          {spoken.length > 0 && (
            <fieldset>
              <legend>Texts in your own words</legend>
              <p class="hint">
                Other texts stay as they are. Placeholders such as <code>{"{name}"}</code> are filled in.
              </p>
              {spoken.flatMap((language) =>
                Object.entries(languages[language] ?? {}).map(([name, text]) => (
                  <div key={`${language} ${name}`} class="inline-form">
                    <TextField
                      label={`${languageName(language)}: ${labelOf(name)}`}
                      lang={language}
                      dir={directionOf(language)}
                      maxLength={MAX_TEXT_LENGTH}
                      value={text}
                      error={errorAt(`languages.${language}.${name}`)}
                      onInput={({ currentTarget }) => setText(language, name, currentTarget.value)}
                    />
                    <IconButton
                      icon="close"
                      label={`Remove ${languageName(language)}: ${labelOf(name)}`}
                      onClick={() => removeText(language, name)}
                    />
                  </div>
                )),
              )}
              <AddText languages={languages} onAdd={setText} />
            </fieldset>
          )}
        </>
      )}
    </SettingsForm>
  );
}

/** Selects a text to replace, and starts with the default text. */
function AddText({
  languages,
  onAdd,
}: {
  languages: Languages;
  onAdd: (language: WidgetLanguage, name: WidgetText, text: string) => void;
}) {
  const spoken = Object.keys(languages) as WidgetLanguage[];
  const [chosen, setChosen] = useState<WidgetLanguage>();
  const [name, setName] = useState<WidgetText>(WIDGET_TEXTS[0]);
  const language = chosen && spoken.includes(chosen) ? chosen : spoken[0]!;
  const isThere = languages[language]?.[name] !== undefined;
  return (
    <div class="inline-form">
      <Select
        label="Language of the text"
        options={spoken.map((one) => [one, languageName(one)] as const)}
        value={language}
        onChoose={setChosen}
      />
      <Select label="Text" options={WIDGET_TEXTS.map((one) => [one, labelOf(one)] as const)} value={name} onChoose={setName} />
      <Button disabled={isThere} onClick={() => void loadTexts(language).then((texts) => onAdd(language, name, texts[name]))}>
        Replace
      </Button>
    </div>
  );
}

/** Removes empty texts, for which the chat uses the default ones again. */
function withoutEmpty(languages: Languages): Languages {
  const filled = (texts: Record<string, string>) => Object.entries(texts).filter(([, text]) => text.trim() !== "");
  return Object.fromEntries(Object.entries(languages).map(([language, texts]) => [language, Object.fromEntries(filled(texts))]));
}
