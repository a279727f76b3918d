import { useState } from "preact/hooks";
import { Link, useLocation } from "wouter-preact";
import { ApiError } from "../../../client/index.ts";
import { api, InputError, type Schemas } from "../api.ts";
import { useQuery } from "../query.ts";
import { hasScope } from "../session.ts";
import { Button } from "../ui/button.tsx";
import { Confirm, DeleteDialog } from "../ui/dialog.tsx";
import { Checkbox, ConfidenceField, Select, TextArea, TextField } from "../ui/field.tsx";
import { formatPercent } from "../ui/format.tsx";
import { Secret } from "../ui/secret.tsx";
import { Loaded } from "../ui/states.tsx";
import { attempt, showMessage } from "../ui/toast.tsx";
import { AppearanceForm } from "./appearance-form.tsx";
import { HandoffForm } from "./handoff-form.tsx";
import { LanguagesForm } from "./languages-form.tsx";
import { Tools } from "./tools.tsx";
import { SettingsForm } from "./settings-form.tsx";
import { VisitorsForm } from "./visitors-form.tsx";

export type AgentSettings = Schemas["AgentSettings"];
type Update = Schemas["AgentUpdate"];

/** Updates an agent, and shows that it is saved. @throws ApiError or InputError */
export type SaveAgent = (body: Update) => Promise<void>;

export function AgentPage({ id }: { id: string }) {
  const query = useQuery(id, (signal) => api.getAgent({ agent_id: id }, { signal }));
  const save: SaveAgent = async (body) => {
    query.set(await api.updateAgent({ agent_id: id, body }));
    showMessage("Saved");
  };
  return (
    <>
      <p>
        <Link href="/">All agents</Link>
      </p>
      <Loaded query={query}>
        {(agent) =>
          hasScope("agents:write") ? (
            <>
              <PublishedVersion agent={agent as AgentSettings} />
              <General agent={agent as AgentSettings} save={save} />
              <HandoffForm agent={agent as AgentSettings} save={save} />
              <AppearanceForm agent={agent as AgentSettings} save={save} />
              <VisitorsForm agent={agent as AgentSettings} save={save} />
              <LanguagesForm agent={agent as AgentSettings} save={save} />
              <Embed agentId={id} />
              <Tools agent={agent as AgentSettings} onChanged={query.set} />
              <Danger agent={agent as AgentSettings} />
            </>
          ) : (
            <section class="card">
              <h2>{agent.name}</h2>
              <p>{agent.description}</p>
              <p class="quiet">
                Changing it needs the scope <code>agents:write</code>.
              </p>
            </section>
          )
        }
      </Loaded>
    </>
  );
}

/** Which versions of the agent answer, and the way to its draft and its history. */
function PublishedVersion({ agent: { id, version, rollout } }: { agent: AgentSettings }) {
  return (
    <section class="card" aria-label="Version">
      <div class="card-top">
        <p>
          {rollout === null
            ? `Version ${version} answers all conversations.`
            : `Version ${rollout.version} answers ${formatPercent(rollout.share)} of new conversations, version ${version} the others.`}
        </p>
        <p>
          <Link href={`/agents/${id}/versions`}>Versions and draft</Link>
        </p>
      </div>
      {rollout !== null && (
        <p class="banner warning">
          Changing instructions, messages, threshold, hand-off, tools or languages on this page ends the rollout.
        </p>
      )}
    </section>
  );
}

function General({ agent, save }: { agent: AgentSettings; save: SaveAgent }) {
  const saveGeneral = (text: (name: string) => string) =>
    save({
      name: text("name"),
      slug: text("slug"),
      description: text("description") || null,
      instructions: text("instructions") || null,
      welcome_message: text("welcome_message"),
      confidence_threshold: Number(text("confidence_threshold")),
      language: text("language"),
      status: text("is_active") === "on" ? "active" : "paused",
      allowed_origins: text("allowed_origins").split(/\s+/).filter(Boolean),
    }).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 409) throw new InputError(error.message, "slug");
      throw error;
    });
  return (
    <SettingsForm title="Agent" onSave={saveGeneral}>
      {(errorAt) => (
        <>
          <Checkbox label="Answers questions" name="is_active" defaultChecked={agent.status === "active"} />
          <TextField label="Name" name="name" error={errorAt("name")} required maxLength={120} defaultValue={agent.name} />
          <TextField
            label="Slug"
            name="slug"
            required
            maxLength={63}
            spellcheck={false}
            defaultValue={agent.slug}
            hint="A short name that no other agent of the workspace has: small letters, digits and hyphens."
            error={errorAt("slug")}
          />
          <TextField
            label="Description"
            name="description"
            error={errorAt("description")}
            maxLength={2000}
            defaultValue={agent.description ?? ""}
            hint="For your team."
          />
          <TextArea
            label="Instructions"
            name="instructions"
            error={errorAt("instructions")}
            rows={5}
            maxLength={20_000}
            defaultValue={agent.instructions ?? ""}
            hint="The model reads them before each question: tone, rules, what not to answer. Without a model they are not used."
          />
          <TextArea
            label="Welcome message"
            name="welcome_message"
            error={errorAt("welcome_message")}
            rows={2}
            maxLength={8000}
            defaultValue={agent.welcome_message}
          />
          <ConfidenceField
            name="confidence_threshold"
            error={errorAt("confidence_threshold")}
            defaultValue={String(agent.confidence_threshold)}
            hint="0 to 1. The agent answers from this confidence on. A higher one means fewer wrong answers and more hand-offs."
          />
          <TextField
            label="Language"
            name="language"
            error={errorAt("language")}
            required
            maxLength={35}
            defaultValue={agent.language}
            hint="Such as en or pt-BR, for texts that you do not set. Answers are in the visitor’s language."
          />
          <TextArea
            label="Websites that may show it"
            name="allowed_origins"
            error={errorAt("allowed_origins")}
            rows={2}
            defaultValue={agent.allowed_origins.join("\n")}
            hint="One origin per line, such as https://www.example.com; * allows all."
          />
        </>
      )}
    </SettingsForm>
  );
}

const PLACES = [
  ["launcher", "A launcher in the corner"],
  ["inline", "In the page"],
  ["link", "A link to the chat page"],
] as const;

/** The snippet to paste into a website. */
function Embed({ agentId }: { agentId: string }) {
  const [place, setPlace] = useState<(typeof PLACES)[number][0]>("launcher");
  const script = `<script src="${location.origin}/widget.js"${place === "launcher" ? ` data-agent="${agentId}"` : ""} async></script>`;
  const snippets = {
    launcher: script,
    inline: `${script}\n<support-agent agent="${agentId}"></support-agent>`,
    link: `${location.origin}/chat/${agentId}`,
  };
  return (
    <section class="card">
      <h2>Put it on your website</h2>
      <Select label="Placement" options={PLACES} value={place} onChoose={setPlace} />
      <Secret value={snippets[place]} />
      <p class="quiet">The website’s origin must be among those that may show it.</p>
    </section>
  );
}

function Danger({ agent }: { agent: AgentSettings }) {
  const [open, setOpen] = useState<"delete" | "identity" | undefined>();
  const [secret, setSecret] = useState<string>();
  const [, navigate] = useLocation();
  const remove = async () => {
    if (await attempt(() => api.deleteAgent({ agent_id: agent.id }), "Deleted")) navigate("/");
  };
  const rotate = async () => {
    await attempt(async () => setSecret((await api.rotateIdentitySecret({ agent_id: agent.id, body: {} })).secret));
    setOpen(undefined);
  };
  return (
    <section class="card">
      <h2>Identity and deletion</h2>
      <p class="quiet">
        {agent.has_identity_secret
          ? "Your website can identify its visitors with the identity secret of this agent."
          : "Your website cannot identify its visitors yet."}
      </p>
      {secret !== undefined && (
        <>
          <p>It is shown only once: store it with your other secrets.</p>
          <Secret value={secret} />
        </>
      )}
      <div class="actions">
        <Button onClick={() => setOpen("identity")}>
          {agent.has_identity_secret ? "New identity secret" : "Create an identity secret"}
        </Button>
        <Button variant="danger" onClick={() => setOpen("delete")}>
          Delete agent
        </Button>
      </div>
      {open === "identity" && (
        <Confirm title="Create an identity secret" confirm="Create" onClose={() => setOpen(undefined)} onConfirm={rotate}>
          <p>A current secret stays valid for a day.</p>
        </Confirm>
      )}
      {open === "delete" && (
        <DeleteDialog title={`Delete “${agent.name}”`} onClose={() => setOpen(undefined)} onDelete={remove}>
          <p>Its knowledge is deleted, and it no longer answers anybody. Its conversations stay.</p>
        </DeleteDialog>
      )}
    </section>
  );
}
