import { useState } from "preact/hooks";
import { Link } from "wouter-preact";
import { api, InputError, problemsOf, type Schemas } from "../api.ts";
import { useQuery } from "../query.ts";
import { hasScope } from "../session.ts";
import { Button } from "../ui/button.tsx";
import { DeleteDialog, Dialog } from "../ui/dialog.tsx";
import { FieldError, Select } from "../ui/field.tsx";
import { Empty, Loaded } from "../ui/states.tsx";
import { SearchField } from "../ui/page.tsx";
import { countOf, formatNumber, Time } from "../ui/format.tsx";
import { attempt, showMessage } from "../ui/toast.tsx";
import { SourceForm } from "./source-form.tsx";

type Source = Schemas["Source"];

/** A longer list has a search field. */
const SEARCHABLE = 5;
const REFUSED_ID = "refused-files";
/** The limit of the service for one file. */
const MAX_FILE_MB = 20;
const FILE_TYPES = ".pdf,.docx,.html,.htm,.md,.txt,.csv";

/** The sources of an agent, latest first, with their progress. Files can be dropped on the list. */
export function Sources({ agentId }: { agentId: string }) {
  const [isAdding, setAdding] = useState(false);
  const [isOver, setOver] = useState(false);
  const [refused, setRefused] = useState<readonly string[]>([]);
  const query = useQuery(
    agentId,
    (signal) => api.listSources({ agent_id: agentId }, { signal }),
    ({ kind }) => kind === "source",
  );
  const mayWrite = hasScope("knowledge:write");
  const upload = async (files: readonly File[]) => {
    setRefused([]);
    for (const file of files) {
      try {
        await uploadFile(agentId, file);
        showMessage(`${file.name} is being read`);
      } catch (error) {
        const text = problemsOf(error).map((problem) => problem.text);
        setRefused((before) => [...before, `${file.name.trim() || "A file without a name"}: ${text.join(" ")}`]);
      }
    }
    query.reload();
  };
  return (
    <section
      class={isOver ? "stack drop-zone is-over" : "stack drop-zone"}
      aria-label="Sources"
      onDragOver={(event) => {
        if (!mayWrite) return;
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        if (mayWrite) void upload([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      {mayWrite && (
        <div class="actions">
          <p class="quiet grow only-wide">Drop files here: PDF, DOCX, HTML, Markdown, text, CSV.</p>
          <label class="button">
            Upload files
            <input
              type="file"
              class="sr-only"
              multiple
              accept={FILE_TYPES}
              aria-invalid={refused.length > 0}
              aria-describedby={refused.length > 0 ? REFUSED_ID : undefined}
              onChange={({ currentTarget }) => {
                const files = [...(currentTarget.files ?? [])];
                // A file that was corrected can be chosen again.
                currentTarget.value = "";
                void upload(files);
              }}
            />
          </label>
          <Button variant="primary" onClick={() => setAdding(true)}>
            Add source
          </Button>
        </div>
      )}
      {refused.length > 0 && (
        <div id={REFUSED_ID}>
          {refused.map((text, at) => (
            <FieldError key={at} text={text} />
          ))}
        </div>
      )}
      <Loaded query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="The agent knows nothing yet">
              Add a website, a page or a text, or drop files here. It answers from them alone.
            </Empty>
          ) : (
            <SourceList agentId={agentId} sources={data.toReversed()} onDeleted={query.reload} />
          )
        }
      </Loaded>
      {isAdding && (
        <Dialog title="Add source" onClose={() => setAdding(false)}>
          <SourceForm
            agentId={agentId}
            onAdded={() => {
              setAdding(false);
              query.reload();
            }}
          />
        </Dialog>
      )}
    </section>
  );
}

/** Uploads a file as a source. @throws ApiError or InputError */
async function uploadFile(agentId: string, file: File): Promise<void> {
  if (file.name.trim() === "") throw new InputError("Give it a name.");
  // A large file would take minutes to be sent, only to be refused.
  if (file.size > MAX_FILE_MB * 1024 * 1024) throw new InputError(`It is larger than ${MAX_FILE_MB} MB. Split it, and upload the parts.`);
  await api.uploadSourceFile({ agent_id: agentId, body: { file } });
}

interface ListProps {
  agentId: string;
  sources: readonly Source[];
  onDeleted: () => void;
}

/** The sources, of which the user can find some and delete several. */
function SourceList({ agentId, sources, onDeleted }: ListProps) {
  const [searched, setSearched] = useState("");
  const [state, setState] = useState<Source["status"] | "">("");
  const [chosenIds, setChosenIds] = useState<readonly string[]>([]);
  const found = sources.filter((one) => (state === "" || one.status === state) && textOf(one).includes(searched.toLowerCase()));
  // Only what is visible is deleted.
  const chosen = found.filter(({ id }) => chosenIds.includes(id));
  const choose = (id: string, isChosen: boolean) => setChosenIds([...chosenIds.filter((other) => other !== id), ...(isChosen ? [id] : [])]);
  return (
    <>
      {(sources.length > SEARCHABLE || searched !== "" || state !== "") && (
        <div class="inline-form">
          <SearchField label="Search sources" onSearch={setSearched} />
          <Select label="State" hideLabel options={STATES} value={state} onChoose={setState} />
        </div>
      )}
      {chosen.length > 0 && <Chosen agentId={agentId} chosen={chosen} onClear={() => setChosenIds([])} onDeleted={onDeleted} />}
      {found.length === 0 ? (
        <Empty title="Nothing was found">No source has this in its name, its address or its state.</Empty>
      ) : (
        <ul class="stack sources">
          {found.map((source) => (
            <SourceCard
              key={source.id}
              source={source}
              isChosen={chosenIds.includes(source.id)}
              onChoose={(isChosen) => choose(source.id, isChosen)}
            />
          ))}
        </ul>
      )}
    </>
  );
}

/** The bar above the list while sources are selected. */
function Chosen({
  agentId,
  chosen,
  onClear,
  onDeleted,
}: {
  agentId: string;
  chosen: readonly Source[];
  onClear: () => void;
  onDeleted: () => void;
}) {
  const [isAsking, setAsking] = useState(false);
  const count = chosen.length === 1 ? "one source" : `${formatNumber(chosen.length)} sources`;
  const remove = async () => {
    await attempt(async () => {
      for (const { id } of chosen) await api.deleteSource({ agent_id: agentId, source_id: id });
      onClear();
    }, "Deleted");
    setAsking(false);
    onDeleted();
  };
  return (
    <div class="banner" role="group" aria-label="Selected sources">
      <span class="grow">{count} selected</span>
      <Button onClick={onClear}>Clear</Button>
      <Button variant="danger" onClick={() => setAsking(true)}>
        Delete …
      </Button>
      {isAsking && (
        <DeleteDialog title={`Delete ${count}`} onClose={() => setAsking(false)} onDelete={remove}>
          <p class="clamp-5">{chosen.map(({ name }) => name).join(", ")}</p>
          <p>The agent no longer answers from them. This cannot be undone.</p>
        </DeleteDialog>
      )}
    </div>
  );
}

/** The text in which the search field searches. */
function textOf({ name, url, type, status }: Source): string {
  return [name, url, type, SOURCE_STATUS[status]].join(" ").toLowerCase();
}

export const SOURCE_STATUS = { pending: "Waiting to be read", processing: "Being read", ready: "Ready", failed: "Failed" } as const;

const STATES = [["", "All states"], ...Object.entries(SOURCE_STATUS)] as [Source["status"] | "", string][];

interface CardProps {
  source: Source;
  isChosen: boolean;
  onChoose: (isChosen: boolean) => void;
}

function SourceCard({ source, isChosen, onChoose }: CardProps) {
  const { id, agent_id: agentId, name, url, status, error, last_synced_at: syncedAt, type } = source;
  return (
    <li class="card">
      <div class="card-top">
        {hasScope("knowledge:write") && (
          <input
            type="checkbox"
            aria-label={`Select ${name}`}
            checked={isChosen}
            onChange={({ currentTarget }) => onChoose(currentTarget.checked)}
          />
        )}
        <Link href={`/agents/${agentId}/sources/${id}`} class="grow">
          <strong>{name}</strong>
        </Link>
        <span class={`status ${status}`}>{SOURCE_STATUS[status]}</span>
      </div>
      <p class="quiet">
        {type}
        {url && <> · {url}</>}
        {syncedAt && (
          <>
            {" · read "}
            <Time at={syncedAt} />
          </>
        )}
      </p>
      <Progress source={source} />
      {error && <p class="field-error">{error.message}</p>}
    </li>
  );
}

/** The progress of reading a website. */
export function Progress({
  source: { type, status, pages_found: found, pages_indexed: read, pages_failed: failed, pages_skipped: skipped },
}: {
  source: Source;
}) {
  if (type !== "website") return null;
  const isReading = status === "processing" || status === "pending";
  return (
    <>
      {isReading && <progress max={Math.max(found, 1)} value={read + failed + skipped} aria-label="Pages read" />}
      <p class="quiet">
        {countOf(found, "page")} found, {formatNumber(read)} read, {formatNumber(failed)} failed, {formatNumber(skipped)} skipped
      </p>
    </>
  );
}
