import { useEffect, useRef, useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import { chooseAgent } from "../agents.tsx";
import { api, InputError, type Schemas } from "../api.ts";
import { Button } from "../ui/button.tsx";
import { Confirm, Dialog } from "../ui/dialog.tsx";
import { ConfidenceField, FieldError, FormEnd, Select, TextArea, TextField } from "../ui/field.tsx";
import { type ErrorAt, linesOf, useForm } from "../ui/form.ts";
import { Time } from "../ui/format.tsx";
import { attempt, showMessage } from "../ui/toast.tsx";
import type { AgentSettings } from "./agent-page.tsx";
import { Differences, fieldNames } from "./version-differences.tsx";

type DraftVersion = Schemas["AgentVersionWithSettings"];

interface Props {
  agent: AgentSettings;
  draft: DraftVersion;
  onSaved: (draft: DraftVersion) => void;
  /** Called after the draft was published or discarded. */
  onChanged: () => void;
}

/** The settings that the form of a draft has. A draft can also have other languages and tools, over the API. */
const FIELDS = ["instructions", "welcome_message", "handoff_message", "confidence_threshold", "model", "handoff", "handoff_words"] as const;

const HANDOFF = [
  ["on", "Hands conversations to your team"],
  ["off", "Never hands off"],
] as const;

/** The draft of an agent: settings to try before visitors get them. */
export function Draft({ agent, draft, onSaved, onChanged }: Props) {
  const [open, setOpen] = useState<"publish" | "discard">();
  const [, navigate] = useLocation();
  const close = () => setOpen(undefined);
  const element = useRef<HTMLFormElement>(null);
  const next = useRef<"save" | "try" | "publish">("save");
  // Without changes, the form has the settings of the published version again.
  useEffect(() => {
    if (draft.created_at === null) element.current?.reset();
  }, [draft.created_at]);
  const { settings, changed_fields: changed, differences } = draft;
  const form = useForm(async ({ text }) => {
    const body = changesOf(settings, text);
    const saved = Object.keys(body).length > 0 ? await api.updateAgentDraft({ agent_id: agent.id, body }) : draft;
    onSaved(saved);
    if (next.current !== "save" && saved.changed_fields.length === 0)
      throw new InputError("The draft is the same as the published version. Change it first.");
    if (next.current === "save") showMessage("Saved");
    if (next.current === "publish") setOpen("publish");
    if (next.current === "try") {
      chooseAgent(agent.id);
      navigate("~/playground/draft");
    }
  });
  const discard = async () => {
    const isDone = await attempt(() => api.deleteAgentDraft({ agent_id: agent.id }), "Discarded");
    close();
    if (isDone) onChanged();
  };
  const published = () => {
    close();
    onChanged();
  };
  return (
    <>
      <form ref={element} class="card" aria-label="Draft" onSubmit={form.onSubmit}>
        <div class="card-top">
          <h2>Draft</h2>
          <span class="quiet">
            {draft.created_at === null ? (
              "No changes yet"
            ) : (
              <>
                Changed <Time at={draft.created_at} />
              </>
            )}
          </span>
        </div>
        <p class="quiet">Change the settings here, and try them before visitors get them. The published version stays as it is.</p>
        <DraftFields settings={settings} errorAt={form.errorAt} />
        {differences && differences.length > 0 && (
          <details>
            <summary>What the draft changes: {fieldNames(changed)}</summary>
            <Differences of={differences} />
          </details>
        )}
        <FieldError text={form.error} />
        <div class="actions">
          <Button disabled={draft.created_at === null} onClick={() => setOpen("discard")}>
            Discard
          </Button>
          <Button type="submit" isBusy={form.isBusy} onClick={() => (next.current = "save")}>
            Save draft
          </Button>
          <Button type="submit" isBusy={form.isBusy} onClick={() => (next.current = "try")}>
            Try in the playground
          </Button>
          <Button variant="primary" type="submit" isBusy={form.isBusy} onClick={() => (next.current = "publish")}>
            Publish
          </Button>
        </div>
      </form>
      {open === "publish" && <Publish agent={agent} draft={draft} onClose={close} onPublished={published} />}
      {open === "discard" && (
        <Confirm title="Discard the draft" confirm="Discard" isDanger onClose={close} onConfirm={discard}>
          <p>What you changed is lost{changed.length > 0 && `: ${fieldNames(changed)}`}.</p>
        </Confirm>
      )}
    </>
  );
}

function DraftFields({ settings, errorAt }: { settings: DraftVersion["settings"]; errorAt: ErrorAt }) {
  return (
    <>
      <TextArea
        label="Instructions"
        name="instructions"
        rows={6}
        maxLength={20_000}
        defaultValue={settings.instructions ?? ""}
        hint="The model reads them before each question. Without a model they are not used."
        error={errorAt("instructions")}
      />
      <div class="columns">
        <TextArea
          label="Welcome message"
          name="welcome_message"
          rows={3}
          maxLength={8000}
          defaultValue={settings.welcome_message}
          error={errorAt("welcome_message")}
        />
        <TextArea
          label="Hand-off message"
          name="handoff_message"
          rows={3}
          required
          maxLength={8000}
          defaultValue={settings.handoff_message}
          hint="A changed one is used for every reason and in every language."
          error={errorAt("handoff_message")}
        />
      </div>
      <div class="columns">
        <ConfidenceField
          name="confidence_threshold"
          required
          defaultValue={String(settings.confidence_threshold)}
          hint="0 to 1. The agent answers from this confidence on."
          error={errorAt("confidence_threshold")}
        />
        <TextField
          label="Model"
          name="model"
          maxLength={200}
          defaultValue={settings.model ?? ""}
          placeholder="The deployment’s own"
          error={errorAt("model")}
        />
      </div>
      <div class="columns">
        <Select
          label="Hand-off"
          name="handoff"
          options={HANDOFF}
          value={settings.handoff}
          hint="What the agent says instead is in the agent’s settings."
          error={errorAt("handoff")}
        />
        <TextArea
          label="Words that always hand off"
          name="handoff_words"
          rows={3}
          defaultValue={settings.handoff_words.join("\n")}
          hint="One word or phrase per line. They are not used while the agent never hands off."
          error={errorAt("handoff_words")}
        />
      </div>
    </>
  );
}

/** Returns the fields of the form that differ from the draft, so that the changes of colleagues to others are kept. */
function changesOf(before: DraftVersion["settings"], text: (name: string) => string): Schemas["AgentDraftUpdate"] {
  const textOf = (value: string | number | readonly string[] | null) =>
    (Array.isArray(value) ? value.join("\n") : String(value ?? "")).trim();
  const changed = FIELDS.filter((name) => text(name).replaceAll("\r\n", "\n") !== textOf(before[name]));
  const valueOf = (name: (typeof FIELDS)[number]) => {
    if (name === "confidence_threshold") return Number(text(name));
    if (name === "handoff_words") return linesOf(text(name));
    return name === "instructions" || name === "model" ? text(name) || null : text(name);
  };
  return Object.fromEntries(changed.map((name) => [name, valueOf(name)]));
}

const AUDIENCES = [
  ["all", "All"],
  ["share", "A share of new ones"],
] as const;

interface PublishProps {
  agent: AgentSettings;
  draft: DraftVersion;
  onClose: () => void;
  onPublished: () => void;
}

/** Publishes the draft, with a note for the team. */
function Publish({ agent, draft, onClose, onPublished }: PublishProps) {
  const [audience, setAudience] = useState<(typeof AUDIENCES)[number][0]>("all");
  const form = useForm(async ({ text }) => {
    const rollout = audience === "share" ? { rollout: shareOf(text("rollout")) } : undefined;
    const { number } = await api.publishAgentDraft({ agent_id: agent.id, body: { note: text("note") || null, ...rollout } });
    onPublished();
    showMessage(`Version ${number} is ${rollout === undefined ? "published" : "rolled out"}`);
  });
  return (
    <Dialog title="Publish the draft" isWide onClose={onClose}>
      <form class="stack" onSubmit={form.onSubmit}>
        <TextField
          label="Note"
          name="note"
          maxLength={500}
          placeholder="Shorter answers"
          hint="What has changed, for your team."
          error={form.errorAt("note")}
        />
        <Select label="Conversations that get it" options={AUDIENCES} value={audience} onChoose={setAudience} />
        {audience === "share" && (
          <ShareField
            name="rollout"
            defaultValue="10"
            hint="Such a conversation keeps its version until the rollout ends."
            error={form.errorAt("rollout")}
          />
        )}
        {agent.rollout && <p class="banner warning">This ends the rollout of version {agent.rollout.version}.</p>}
        <Differences of={draft.differences ?? []} />
        <FormEnd form={form}>Publish</FormEnd>
      </form>
    </Dialog>
  );
}

interface ShareProps {
  name: string;
  defaultValue: string;
  hint?: string;
  error: string | undefined;
}

/** The percentage of new conversations that get a version. */
export function ShareField(props: ShareProps) {
  return <TextField label="Percent of new conversations" type="number" min={0} max={100} step="any" required {...props} />;
}

/** Turns a percentage into a share from 0 to 1. */
export function shareOf(percent: string): number {
  return Number(percent) / 100;
}
