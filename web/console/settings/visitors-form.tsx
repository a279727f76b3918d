import type { Schemas } from "../api.ts";
import { Checkbox, FieldError, Select } from "../ui/field.tsx";
import type { AgentSettings, SaveAgent } from "./agent-page.tsx";
import { SettingsForm } from "./settings-form.tsx";

type ContactField = NonNullable<AgentSettings["contact_form"]>["fields"][number];

/** The fields of a contact form for which the chat has labels. */
const FIELDS = [
  ["name", "Name"],
  ["email", "Email"],
  ["phone", "Phone"],
  ["message", "Message"],
] as const;
const USES = [
  ["off", "Not asked for"],
  ["optional", "Optional"],
  ["required", "Required"],
] as const;

/** The hosted chat page, and the contact form for visitors who wait for a person. */
export function VisitorsForm({ agent, save }: { agent: AgentSettings; save: SaveAgent }) {
  const asked = agent.contact_form?.fields ?? [];
  const saveVisitors = (text: (name: string) => string) =>
    save({
      hosted_page: { enabled: text("hosted_page") === "on", indexed: text("is_indexed") === "on" },
      contact_form: formOf(text, asked),
    });
  return (
    <SettingsForm title="Visitors" onSave={saveVisitors}>
      {(errorAt) => (
        <>
          <Checkbox label="Has a chat page of its own" name="hosted_page" defaultChecked={agent.hosted_page.enabled} />
          <Checkbox label="Search engines may list the chat page" name="is_indexed" defaultChecked={agent.hosted_page.indexed} />
          <fieldset>
            <legend>Contact form</legend>
            <p class="hint">Visitors who wait for a person can leave these details. It needs an email address or a phone number.</p>
            <div class="columns">
              {FIELDS.map(([name, label]) => (
                <Select key={name} label={label} name={name} options={USES} value={useOf(asked.find((field) => field.name === name))} />
              ))}
            </div>
            <FieldError text={errorAt("contact_form.fields")} />
          </fieldset>
        </>
      )}
    </SettingsForm>
  );
}

function useOf(field: ContactField | undefined): (typeof USES)[number][0] {
  if (!field) return "off";
  return field.required ? "required" : "optional";
}

/** Builds the contact form from the values of these fields and the agent's custom fields. Returns null if it has no fields. */
function formOf(text: (name: string) => string, before: readonly ContactField[]): Schemas["AgentUpdate"]["contact_form"] {
  const named = FIELDS.flatMap(([name]) => (text(name) === "off" ? [] : [{ name, required: text(name) === "required" }]));
  const own = before.filter(({ name }) => !FIELDS.some(([known]) => known === name));
  return named.length + own.length === 0 ? null : { fields: [...named, ...own] };
}
