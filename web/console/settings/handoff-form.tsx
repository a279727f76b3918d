import { useState } from "preact/hooks";
import { IconButton } from "../ui/button.tsx";
import { Checkbox, Select, TextArea } from "../ui/field.tsx";
import { linesOf } from "../ui/form.ts";
import type { AgentSettings, SaveAgent } from "./agent-page.tsx";
import { languageName, LANGUAGES } from "./languages.ts";
import { SettingsForm } from "./settings-form.tsx";

const MAX_MESSAGE_LENGTH = 2_000;

/** Whether and when the agent hands conversations to the team, and what it says if it does not. */
export function HandoffForm({ agent, save }: { agent: AgentSettings; save: SaveAgent }) {
  const [isOn, setOn] = useState(agent.handoff === "on");
  const [messages, setMessages] = useState(agent.handoff_off_messages);
  const setMessage = (language: string, text: string) => setMessages({ ...messages, [language]: text });
  const removeMessage = (language: string) => {
    const { [language]: _, ...others } = messages;
    setMessages(others);
  };
  const missing = LANGUAGES.filter((language) => messages[language] === undefined);
  const saveHandoff = (text: (name: string) => string) =>
    save({
      handoff: isOn ? "on" : "off",
      handoff_words: isOn ? linesOf(text("handoff_words")) : agent.handoff_words,
      handoff_off_messages: Object.fromEntries(Object.entries(messages).filter(([, text]) => text.trim() !== "")),
    });
  return (
    <SettingsForm title="Hand-off" onSave={saveHandoff}>
      {(errorAt) => (
        <>
          <Checkbox
            label="Hands conversations to your team"
            checked={isOn}
            onChange={({ currentTarget }) => setOn(currentTarget.checked)}
          />
          {isOn ? (
            <TextArea
              label="Words that always hand off"
              name="handoff_words"
              rows={3}
              defaultValue={agent.handoff_words.join("\n")}
              error={errorAt("handoff_words")}
              hint="One word or phrase per line, in any language. A message that has one of them goes to your team. Case, accents and punctuation do not matter."
            />
          ) : (
            <fieldset>
              <legend>What the agent says instead</legend>
              <p class="hint">
                Visitors who write in another language read the usual text. If the agent has a contact form, it asks for contact details.
              </p>
              {Object.entries(messages).map(([language, text]) => (
                <div key={language} class="inline-form">
                  <TextArea
                    label={languageName(language)}
                    lang={language}
                    dir="auto"
                    rows={2}
                    maxLength={MAX_MESSAGE_LENGTH}
                    value={text}
                    error={errorAt(`handoff_off_messages.${language}`)}
                    onInput={({ currentTarget }) => setMessage(language, currentTarget.value)}
                  />
                  <IconButton icon="close" label={`Remove ${languageName(language)}`} onClick={() => removeMessage(language)} />
                </div>
              ))}
              {missing.length > 0 && (
                <Select
                  label="Add a language"
                  options={[["", "Choose…"], ...missing.map((language) => [language, languageName(language)] as const)]}
                  value=""
                  onChoose={(language) => language && setMessage(language, "")}
                />
              )}
            </fieldset>
          )}
        </>
      )}
    </SettingsForm>
  );
}
