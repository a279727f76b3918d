import { useEffect, useState } from "preact/hooks";
import { api, problemsOf, problemText, type Schemas } from "../api.ts";
import { type Query, useQuery } from "../query.ts";
import { hasScope } from "../session.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Checkbox, FieldError, TextArea, TextField } from "../ui/field.tsx";
import { Figure, formatNumber } from "../ui/format.tsx";
import { Loaded } from "../ui/states.tsx";
import { showMessage } from "../ui/toast.tsx";
import { SettingsForm } from "./settings-form.tsx";

type Redaction = Schemas["Redaction"];
type Settings = Pick<Redaction, "card" | "iban" | "patterns">;

const MAX_PATTERNS = 10;
/** A preview is requested once nothing was typed for this time. */
const PAUSE_MS = 300;

/** What is masked in texts, tried out on a text, and how often it was masked. */
export function PrivacyPage() {
  const query = useQuery("redaction", (signal) => api.getRedaction({}, { signal }));
  return (
    <Loaded query={query} rows={4}>
      {(redaction) => <RedactionPage redaction={redaction} query={query} />}
    </Loaded>
  );
}

function RedactionPage({ redaction, query }: { redaction: Redaction; query: Query<Redaction> }) {
  const [settings, setSettings] = useState<Settings>(redaction);
  return (
    <>
      <Counts redaction={redaction} />
      <RedactionForm settings={settings} onChange={setSettings} onSaved={query.set} />
      <Preview settings={settings} />
    </>
  );
}

function Counts({ redaction: { card, iban, patterns, counts } }: { redaction: Redaction }) {
  const ofPatterns = Object.values(counts.patterns).reduce((sum, count) => sum + count, 0);
  const note = (isOn: boolean) => (isOn ? "masked this month" : "off");
  return (
    <div class="cards">
      <Figure name="Card numbers" value={formatNumber(counts.card)} note={note(card)} />
      <Figure name="IBANs" value={formatNumber(counts.iban)} note={note(iban)} />
      <Figure name="Own patterns" value={formatNumber(ofPatterns)} note={note(patterns.length > 0)}>
        {ofPatterns > 0 && (
          <ul class="hint">
            {Object.entries(counts.patterns).map(([name, count]) => (
              <li key={name}>
                {name}: {formatNumber(count)}
              </li>
            ))}
          </ul>
        )}
      </Figure>
    </div>
  );
}

interface FormProps {
  settings: Settings;
  onChange: (settings: Settings) => void;
  onSaved: (redaction: Redaction) => void;
}

function RedactionForm({ settings, onChange, onSaved }: FormProps) {
  const { card, iban, patterns } = settings;
  const save = async () => {
    onSaved(await api.updateRedaction({ body: { card, iban, patterns } }));
    showMessage("Saved");
  };
  const setPattern = (changed: number, part: Partial<Settings["patterns"][number]>) =>
    onChange({ ...settings, patterns: patterns.map((one, at) => (at === changed ? { ...one, ...part } : one)) });
  return (
    <SettingsForm title="Redaction" onSave={save} isReadOnly={!hasScope("privacy:write")}>
      {(errorAt) => (
        <>
          <p class="hint">
            What you switch on is masked in everything that visitors, your team and tools write, before it is stored or sent to a model, a
            tool or a webhook. It cannot be restored, and earlier texts do not change. If nobody needs the numbers of cards to answer, mask
            them.
          </p>
          <fieldset>
            <legend>Masked in texts</legend>
            <Checkbox
              label="Numbers of payment cards"
              checked={card}
              onChange={({ currentTarget }) => onChange({ ...settings, card: currentTarget.checked })}
            />
            <Checkbox
              label="IBANs, also your own in replies of your team"
              checked={iban}
              onChange={({ currentTarget }) => onChange({ ...settings, iban: currentTarget.checked })}
            />
          </fieldset>
          <fieldset>
            <legend>Own patterns</legend>
            <p class="hint">
              Regular expressions of RE2, such as <code>KD-[0-9]{"{6}"}</code> with the name <code>customer number</code>.
            </p>
            {patterns.map(({ name, pattern }, at) => (
              <div key={at} class="inline-form">
                <TextField
                  label={`Name of pattern ${at + 1}`}
                  required
                  maxLength={40}
                  value={name}
                  error={errorAt(`patterns.${at}.name`)}
                  onInput={({ currentTarget }) => setPattern(at, { name: currentTarget.value })}
                />
                <TextField
                  label={`Pattern ${at + 1}`}
                  required
                  maxLength={200}
                  spellcheck={false}
                  autocomplete="off"
                  value={pattern}
                  error={errorAt(`patterns.${at}.pattern`)}
                  onInput={({ currentTarget }) => setPattern(at, { pattern: currentTarget.value })}
                />
                <IconButton
                  icon="close"
                  label={`Remove pattern ${at + 1}`}
                  onClick={() => onChange({ ...settings, patterns: patterns.filter((_, other) => other !== at) })}
                />
              </div>
            ))}
            <div>
              <Button
                disabled={patterns.length >= MAX_PATTERNS}
                onClick={() => onChange({ ...settings, patterns: [...patterns, { name: "", pattern: "" }] })}
              >
                Add pattern
              </Button>
            </div>
          </fieldset>
        </>
      )}
    </SettingsForm>
  );
}

/** Shows what the settings of the form, saved or not, leave of a text. */
function Preview({ settings }: { settings: Settings }) {
  const [text, setText] = useState("My card is 4111 1111 1111 1111, my IBAN DE89 3704 0044 0532 0130 00.");
  const [masked, setMasked] = useState("");
  const [error, setError] = useState<string>();
  const asked = JSON.stringify({ ...complete(settings), text });
  useEffect(() => {
    const controller = new AbortController();
    const read = async () => {
      try {
        const body = JSON.parse(asked) as Settings & { text: string };
        setMasked((await api.previewRedaction({ body }, { signal: controller.signal })).text);
        setError(undefined);
      } catch (failure) {
        if (!controller.signal.aborted) setError(problemsOf(failure).map(problemText).join(" "));
      }
    };
    const timer = setTimeout(() => void read(), PAUSE_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [asked]);
  return (
    <section class="card">
      <h2>Try it</h2>
      <TextArea
        label="Text to try"
        rows={3}
        maxLength={8000}
        value={text}
        hint="It is not stored."
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      <div class="field">
        <label for="masked-text">What is stored</label>
        <output class="masked" id="masked-text">
          {masked}
        </output>
      </div>
      <FieldError text={error} />
    </section>
  );
}

/** The settings without patterns that are still being written. */
function complete({ card, iban, patterns }: Settings): Settings {
  return { card, iban, patterns: patterns.filter(({ name, pattern }) => name !== "" && pattern !== "") };
}
