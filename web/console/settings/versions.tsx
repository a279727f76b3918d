import { useState } from "preact/hooks";
import { Link } from "wouter-preact";
import { MAX_VERSIONS } from "../agents.tsx";
import { api, type Schemas } from "../api.ts";
import { usePages } from "../lists.ts";
import { useQuery } from "../query.ts";
import { hasScope } from "../session.ts";
import { Button } from "../ui/button.tsx";
import { Confirm } from "../ui/dialog.tsx";
import { FieldError } from "../ui/field.tsx";
import { useForm } from "../ui/form.ts";
import { actorText, countOf, formatNumber, formatPercent, Time } from "../ui/format.tsx";
import { PagesCards } from "../ui/pages.tsx";
import { Loaded, NeedsScope } from "../ui/states.tsx";
import { Table } from "../ui/table.tsx";
import { attempt, showMessage } from "../ui/toast.tsx";
import type { AgentSettings } from "./agent-page.tsx";
import { fieldNames, VersionDifferences } from "./version-differences.tsx";
import { Draft, ShareField, shareOf } from "./version-draft.tsx";

type Version = Schemas["AgentVersion"];

/** The versions of an agent: the published one, its draft, its rollout and its history. */
export function VersionsPage({ id }: { id: string }) {
  return (
    <>
      <p>
        <Link href={`/agents/${id}`}>Settings of the agent</Link>
      </p>
      <NeedsScope scope="agents:write">
        <Versions id={id} />
      </NeedsScope>
    </>
  );
}

function Versions({ id }: { id: string }) {
  const query = useQuery(id, async (signal) => {
    const agent = api.getAgent({ agent_id: id }, { signal });
    const draft = api.getAgentVersion({ agent_id: id, version: "draft" }, { signal });
    return { agent: (await agent) as AgentSettings, draft: await draft };
  });
  const history = usePages(`versions ${id}`, async (place, options) => {
    const page = await api.listAgentVersions({ agent_id: id, ...place }, options);
    return { ...page, data: page.data.map((version) => ({ ...version, id: String(version.number) })) };
  });
  const reload = () => {
    query.reload();
    history.first.reload();
  };
  return (
    <Loaded query={query}>
      {({ agent, draft }) => (
        <>
          {agent.rollout ? <Rollout agent={agent} rollout={agent.rollout} onChanged={reload} /> : <Published agent={agent} />}
          <Draft agent={agent} draft={draft} onSaved={(saved) => query.set({ agent, draft: saved })} onChanged={reload} />
          <section class="stack" aria-label="History">
            <h2>History</h2>
            <PagesCards
              pages={history}
              empty={<p class="quiet">None yet.</p>}
              card={(version) => <HistoryEntry agent={agent} version={version} onRestored={reload} />}
            />
          </section>
        </>
      )}
    </Loaded>
  );
}

function Published({ agent: { name, version } }: { agent: AgentSettings }) {
  return (
    <section class="card" aria-label="Published version">
      <h2>Versions of {name}</h2>
      <p>Version {version} answers all conversations.</p>
      <p class="quiet">
        Each change of the instructions, the messages, the confidence threshold, the model, the tools or the languages makes a version.
      </p>
    </section>
  );
}

// --- Rollout ---------------------------------------------------------------------------------------------------------

interface RolloutProps {
  agent: AgentSettings;
  rollout: NonNullable<AgentSettings["rollout"]>;
  onChanged: () => void;
}

/** A version that answers a share of new conversations, compared with the published one. */
function Rollout({ agent, rollout: { version, share }, onChanged }: RolloutProps) {
  const [ending, setEnding] = useState<"keep" | "drop">();
  const change = (body: Schemas["AgentRollout"]) => api.changeAgentRollout({ agent_id: agent.id, body });
  const form = useForm(async ({ text }) => {
    await change({ share: shareOf(text("share")) });
    onChanged();
    showMessage("Saved");
  });
  const end = async (how: "keep" | "drop") => {
    const done = how === "keep" ? `Version ${version} is published` : `Version ${version} is dropped`;
    const isDone = await attempt(() => change({ end: how }), done);
    setEnding(undefined);
    if (isDone) onChanged();
  };
  return (
    <section class="card" aria-label="Rollout">
      <h2>Versions of {agent.name}</h2>
      <p>
        Version {version} answers {formatPercent(share)} of new conversations, version {agent.version} the others.
      </p>
      {hasScope("analytics:read") ? (
        <Comparison agentId={agent.id} versions={[agent.version, version]} />
      ) : (
        <p class="quiet">
          Comparing the two needs the scope <code>analytics:read</code>.
        </p>
      )}
      <form class="inline-form" onSubmit={form.onSubmit}>
        <ShareField name="share" defaultValue={String(Number((share * 100).toFixed(2)))} error={form.errorAt("share")} />
        <Button type="submit" isBusy={form.isBusy}>
          Change the share
        </Button>
      </form>
      <FieldError text={form.error} />
      <div class="actions">
        <Button variant="danger" onClick={() => setEnding("drop")}>
          Drop version {version}
        </Button>
        <Button variant="primary" onClick={() => setEnding("keep")}>
          Keep version {version}
        </Button>
      </div>
      {ending && (
        <Confirm
          title={ending === "keep" ? `Keep version ${version}` : `Drop version ${version}`}
          confirm={ending === "keep" ? "Keep" : "Drop"}
          isDanger={ending === "drop"}
          onClose={() => setEnding(undefined)}
          onConfirm={() => end(ending)}
        >
          <p>
            {ending === "keep"
              ? "It answers all conversations from the next question on."
              : `Version ${agent.version} answers all conversations again from the next question on. The history keeps version ${version}.`}
          </p>
        </Confirm>
      )}
    </section>
  );
}

type Figures = Schemas["AgentVersionAnalytics"];

/** The compared figures of a version: their names, and how they are shown. */
const MEASURES: readonly [name: string, valueOf: (of: Figures) => string][] = [
  ["Conversations", (of) => formatNumber(of.conversations)],
  ["Answers", (of) => formatNumber(of.ai_replies)],
  ["Resolved by the agent", (of) => formatPercent(of.rates.ai_resolution)],
  ["Handed to the team", (of) => formatPercent(of.rates.handoff)],
  ["Satisfaction", ({ csat }) => (csat.average === null ? "–" : `${csat.average.toFixed(1)} of 5, ${countOf(csat.count, "rating")}`)],
  ["Answers rated up", ({ feedback }) => formatNumber(feedback.up)],
  ["Answers rated down", ({ feedback }) => formatNumber(feedback.down)],
];

function Comparison({ agentId, versions }: { agentId: string; versions: readonly [published: number, rolledOut: number] }) {
  const query = useQuery(`figures ${agentId} ${versions.join(" ")}`, (signal) =>
    api.listVersionAnalytics({ agent_id: agentId, limit: MAX_VERSIONS }, { signal }),
  );
  return (
    <Loaded query={query} rows={4}>
      {({ data }) => {
        const cellOf = (number: number) => {
          const figures = data.find(({ version }) => version === number);
          return ([, valueOf]: (typeof MEASURES)[number]) => (figures ? valueOf(figures) : "–");
        };
        return (
          <Table
            label="Comparison"
            rows={MEASURES}
            keyOf={([name]) => name}
            columns={[
              ["Since its start", ([name]) => name, "heading"],
              ...versions.map((number) => [`Version ${number}`, cellOf(number), "number"] as const),
            ]}
          />
        );
      }}
    </Loaded>
  );
}

// --- History ---------------------------------------------------------------------------------------------------------

const STATUS_WORDS: Record<Version["status"], string> = {
  draft: "Draft",
  published: "Published",
  rolling_out: "Rolled out",
  superseded: "Earlier",
};

interface EntryProps {
  agent: AgentSettings;
  version: Version;
  onRestored: () => void;
}

function HistoryEntry({ agent, version, onRestored }: EntryProps) {
  const [isOpen, setOpen] = useState(false);
  const [isRestoring, setRestoring] = useState(false);
  const { number, status, note, base, changed_fields: changed } = version;
  if (number === null) return null;
  const restore = async () => {
    const body = { note: `Restores version ${number}` };
    const isDone = await attempt(() => api.restoreAgentVersion({ agent_id: agent.id, version: String(number), body }), "Restored");
    setRestoring(false);
    if (isDone) onRestored();
  };
  return (
    <>
      <div class="card-top">
        <strong>Version {number}</strong>
        {status === "superseded" ? (
          <Button variant="quiet" aria-label={`Restore version ${number}`} onClick={() => setRestoring(true)}>
            Restore
          </Button>
        ) : (
          <span class={status === "published" ? "status ready" : "status"}>
            {STATUS_WORDS[status]}
            {version.share !== null && ` to ${formatPercent(version.share)}`}
          </span>
        )}
      </div>
      {note !== null && <p class="plain">{note}</p>}
      <p class="quiet">
        {version.author && `${actorText(version.author)}, `}
        {version.created_at && <Time at={version.created_at} />}
      </p>
      {base === null && <p class="quiet">The first version</p>}
      {base !== null && changed.length === 0 && <p class="quiet">The same settings as version {base}</p>}
      {base !== null && changed.length > 0 && (
        <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
          <summary>
            Changed since version {base}: {fieldNames(changed)}
          </summary>
          {isOpen && <VersionDifferences agentId={agent.id} number={number} base={base} />}
        </details>
      )}
      {isRestoring && (
        <Confirm title={`Restore version ${number}`} confirm="Restore" onClose={() => setRestoring(false)} onConfirm={restore}>
          <p>Its settings become a new version, which answers all conversations from the next question on. The draft stays.</p>
          {agent.rollout && <p class="banner warning">This ends the rollout of version {agent.rollout.version}.</p>}
        </Confirm>
      )}
    </>
  );
}
