import { MAX_VERSIONS } from "../agents.tsx";
import { api } from "../api.ts";
import { useQuery } from "../query.ts";
import { hasScope } from "../session.ts";
import { Select } from "../ui/field.tsx";
import type { Schemas } from "../api.ts";

/** The version that a run asks: null for the published one. */
export type RunVersion = NonNullable<Schemas["EvaluationIn"]["version"]> | null;

const NOTE_LENGTH = 40;

/** Names the version that a run has asked, of which 0 is the draft. */
export function versionWords({ version }: Pick<Schemas["Evaluation"], "version">): string {
  if (version === null) return "Published version";
  return version === 0 ? "Draft" : `Version ${version}`;
}

interface Props {
  agentId: string;
  value: RunVersion;
  onChoose: (version: RunVersion) => void;
  hideLabel?: boolean;
}

/** Selects the version of the agent that a run asks. A key that may not read versions runs the published one. */
export function VersionField(props: Props) {
  return hasScope("agents:write") ? <Field {...props} /> : null;
}

function Field({ agentId, value, onChoose, hideLabel }: Props) {
  const { data } = useQuery(`versions ${agentId}`, (signal) =>
    api.listAgentVersions({ agent_id: agentId, limit: MAX_VERSIONS }, { signal }),
  );
  const numbered = (data?.data ?? []).flatMap(({ number, note, status }) =>
    number === null || status === "published"
      ? []
      : [[String(number), note ? `Version ${number}: ${shortened(note)}` : `Version ${number}`] as const],
  );
  // A run may be older than the versions that are kept, and the list may not have been read.
  const isListed = value === null || value === "draft" || numbered.some(([number]) => number === String(value));
  return (
    <Select
      label="Version"
      hideLabel={hideLabel}
      options={[
        ["", "Published version"],
        ["draft", "Draft"],
        ...(isListed ? [] : [[String(value), `Version ${value}`] as const]),
        ...numbered,
      ]}
      value={value === null ? "" : String(value)}
      onChoose={(chosen) => onChoose(chosen === "" ? null : chosen === "draft" ? chosen : Number(chosen))}
    />
  );
}

function shortened(note: string): string {
  return note.length > NOTE_LENGTH ? `${note.slice(0, NOTE_LENGTH)}…` : note;
}
