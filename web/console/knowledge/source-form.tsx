import { useState } from "preact/hooks";
import { api, type Schemas } from "../api.ts";
import { FormEnd, Select, TextArea, TextField } from "../ui/field.tsx";
import { showMessage } from "../ui/toast.tsx";
import { useForm } from "../ui/form.ts";

type Kind = Schemas["SourceCreate"]["type"];

const KINDS = [
  ["website", "A website, with all its pages"],
  ["url", "One web page"],
  ["text", "A text"],
] as const satisfies readonly (readonly [Kind, string])[];
const SCHEDULES = [
  ["manual", "Manually"],
  ["daily", "Daily"],
  ["weekly", "Weekly"],
] as const;

export function SourceForm({ agentId, onAdded }: { agentId: string; onAdded: () => void }) {
  const [type, setType] = useState<Kind>("website");
  const form = useForm(async ({ text }) => {
    const name = text("name") || nameOf(text("url"));
    const schedule = (text("schedule") || "manual") as NonNullable<Schemas["SourceCreate"]["schedule"]>;
    const pages = text("max_pages") === "" ? {} : { max_pages: Number(text("max_pages")) };
    const body =
      type === "text" ? { type, name, text: text("text") } : { type, name, url: text("url"), schedule, ...(type === "website" && pages) };
    await api.createSource({ agent_id: agentId, body });
    showMessage(`${name} is being read`);
    onAdded();
  });
  return (
    <form class="stack" onSubmit={form.onSubmit}>
      <Select label="Kind" options={KINDS} value={type} onChoose={setType} />
      {type === "text" ? (
        <>
          <TextField label="Name" name="name" required maxLength={300} error={form.errorAt("name")} />
          <TextArea
            label="Text"
            name="text"
            required
            rows={10}
            hint="Markdown headings divide it into parts."
            error={form.errorAt("text")}
          />
        </>
      ) : (
        <>
          <TextField
            label="Address"
            name="url"
            type="url"
            required
            placeholder="https://www.example.com/help"
            error={form.errorAt("url")}
          />
          <TextField label="Name" name="name" maxLength={300} hint="By default the host of the address." error={form.errorAt("name")} />
          {type === "website" && (
            <TextField
              label="Pages at most"
              name="max_pages"
              type="number"
              min={1}
              placeholder="The plan’s limit"
              error={form.errorAt("max_pages")}
            />
          )}
          <Select label="Read again" name="schedule" options={SCHEDULES} value="manual" />
        </>
      )}
      <FormEnd form={form}>Add source</FormEnd>
    </form>
  );
}

function nameOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}
