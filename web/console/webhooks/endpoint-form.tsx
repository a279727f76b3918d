import { useState } from "preact/hooks";
import { InputError, type Schemas } from "../api.ts";
import { Checkbox, FieldError, FormEnd, TextField } from "../ui/field.tsx";
import { useForm } from "../ui/form.ts";

type Events = Schemas["WebhookIn"]["events"];

interface Props {
  types: readonly { type: Events[number]; description: string }[];
  webhook?: Schemas["Webhook"];
  submit: string;
  onSubmit: (body: { url: string; events: Events; description: string | null }) => Promise<void>;
}

export function EndpointForm({ types, webhook, submit, onSubmit }: Props) {
  const [getsAll, setGetsAll] = useState(webhook ? webhook.events.includes("*") : true);
  const form = useForm(({ text, all }) => {
    if (!getsAll && all("events").length === 0) throw new InputError("Choose at least one event.", "events");
    return onSubmit({
      url: text("url"),
      events: getsAll ? ["*"] : (all("events") as Events),
      description: text("description") || null,
    });
  });
  const { errorAt } = form;
  return (
    <form class="stack" onSubmit={form.onSubmit}>
      <TextField
        label="URL"
        name="url"
        type="url"
        required
        placeholder="https://"
        defaultValue={webhook?.url ?? ""}
        error={errorAt("url")}
      />
      <TextField
        label="Description"
        name="description"
        maxLength={500}
        defaultValue={webhook?.description ?? ""}
        error={errorAt("description")}
      />
      <fieldset>
        <legend>Events</legend>
        <Checkbox
          label="All events, including types that are added later"
          checked={getsAll}
          onChange={({ currentTarget }) => setGetsAll(currentTarget.checked)}
        />
        {!getsAll &&
          types.map(({ type, description }) => (
            <Checkbox
              key={type}
              name="events"
              value={type}
              defaultChecked={webhook?.events.includes(type) ?? false}
              label={
                <>
                  <code>{type}</code> <span class="quiet">{description}</span>
                </>
              }
            />
          ))}
        <FieldError text={errorAt("events")} />
      </fieldset>
      <FormEnd form={form}>{submit}</FormEnd>
    </form>
  );
}
