import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useRef } from "preact/hooks";
import type { WidgetText } from "../../src/agents/widget-texts.ts";
import type { Contact } from "./api.ts";
import type { ContactField } from "./host.ts";
import { useUi } from "./ui.ts";

/** The standard fields of a lead. Other fields are custom. */
const OWN_FIELDS: Record<
  string,
  { label: WidgetText; type: "text" | "email" | "tel" | "textarea"; autocomplete: string; maxLength: number }
> = {
  name: { label: "field_name", type: "text", autocomplete: "name", maxLength: 120 },
  email: { label: "field_email", type: "email", autocomplete: "email", maxLength: 320 },
  phone: { label: "field_phone", type: "tel", autocomplete: "tel", maxLength: 40 },
  message: { label: "field_message", type: "textarea", autocomplete: "off", maxLength: 4000 },
};
const MAX_CUSTOM_LENGTH = 500;
const EMAIL = /^[^\s@]+@[^\s@]+\.[^\s@]+$/;
const MIN_PHONE_DIGITS = 3;

type Values = Record<string, string>;

/** Asks for contact details, for conversations that nobody can answer now. */
export function ContactForm(): VNode {
  const { settings, chat, view, t } = useUi();
  const fields = settings.contact_form?.fields ?? [];
  const form = useRef<HTMLFormElement>(null);
  const values = useSignal<Values>(chat.profile.value);
  const errors = useSignal<Partial<Record<string, WidgetText>>>({});
  const state = useSignal<"open" | "sending" | "failed">("open");
  const submit = async (event: Event) => {
    event.preventDefault();
    errors.value = findErrors(fields, values.value);
    const first = fields.find(({ name }) => errors.value[name]);
    if (first) return form.current?.querySelector<HTMLElement>(`[name="${first.name}"]`)?.focus();
    state.value = "sending";
    try {
      await chat.sendContact(toContact(fields, values.value));
      view.value = "chat";
    } catch {
      state.value = "failed";
    }
  };
  return (
    <form class="page contact" ref={form} noValidate onSubmit={(event) => void submit(event)}>
      <p>{t("contact_text")}</p>
      {fields.map((field) => (
        <Field
          key={field.name}
          field={field}
          value={values.value[field.name] ?? ""}
          error={errors.value[field.name]}
          onChange={(value) => (values.value = { ...values.value, [field.name]: value })}
        />
      ))}
      {state.value === "failed" && (
        <p class="notice warn" role="alert">
          {t("unavailable")}
        </p>
      )}
      <button type="submit" class="primary" disabled={state.value === "sending"}>
        {t("submit")}
      </button>
    </form>
  );
}

interface FieldProps {
  field: ContactField;
  value: string;
  error: WidgetText | undefined;
  onChange: (value: string) => void;
}

function Field({ field: { name, label, required, options = [] }, value, error, onChange }: FieldProps): VNode {
  const { t } = useUi();
  const own = OWN_FIELDS[name];
  const common = {
    id: `field-${name}`,
    name,
    value,
    required,
    "aria-invalid": error !== undefined,
    "aria-describedby": error && `error-${name}`,
    maxLength: own?.maxLength ?? MAX_CUSTOM_LENGTH,
    autocomplete: own?.autocomplete ?? "off",
    onInput: ({ currentTarget }: { currentTarget: { value: string } }) => onChange(currentTarget.value),
  };
  // It is typed as an object, because each type of input has props of its own.
  const typed: object = { type: own?.type ?? "text" };
  return (
    <div class="field">
      <label for={common.id}>
        {label ?? (own ? t(own.label) : name)}
        {!required && <span>{t("optional")}</span>}
      </label>
      {options.length > 0 ? (
        <select {...common}>
          <option value="" />
          {options.map((option) => (
            <option key={option}>{option}</option>
          ))}
        </select>
      ) : own?.type === "textarea" ? (
        <textarea rows={3} dir="auto" {...common} />
      ) : (
        <input dir="auto" {...typed} {...common} />
      )}
      {error && (
        <p class="error" id={`error-${name}`}>
          {t(error)}
        </p>
      )}
    </div>
  );
}

/** Validates the fields as the service does, which requires an email address or a phone number. */
function findErrors(fields: readonly ContactField[], values: Values): Partial<Record<string, WidgetText>> {
  const errors: Partial<Record<string, WidgetText>> = {};
  const valueOf = (name: string) => (values[name] ?? "").trim();
  for (const { name, required } of fields) {
    const value = valueOf(name);
    if (required && value === "") errors[name] = "required";
    else if (name === "email" && value !== "" && !EMAIL.test(value)) errors[name] = "invalid_email";
    else if (name === "phone" && value !== "" && (value.match(/\p{Nd}/gu) ?? []).length < MIN_PHONE_DIGITS) errors[name] = "invalid_phone";
  }
  const addresses = fields.map(({ name }) => name).filter((name) => name === "email" || name === "phone");
  if (addresses.every((name) => valueOf(name) === "")) errors[addresses[0]!] ??= "required";
  return errors;
}

function toContact(fields: readonly ContactField[], values: Values): Contact {
  const contact: Contact & Values = { custom_fields: {} } as never;
  for (const { name } of fields) {
    const value = (values[name] ?? "").trim();
    if (value === "") continue;
    if (Object.hasOwn(OWN_FIELDS, name)) (contact as Values)[name] = value;
    else contact.custom_fields[name] = value;
  }
  return contact;
}
