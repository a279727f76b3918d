import { api, type Schemas } from "../api.ts";
import { useQuery } from "../query.ts";
import { formatNumber } from "../ui/format.tsx";
import { Loaded } from "../ui/states.tsx";

type Difference = NonNullable<Schemas["AgentVersionWithSettings"]["differences"]>[number];
type Field = Difference["field"];

const FIELD_WORDS: Record<Field, string> = {
  language: "Language",
  instructions: "Instructions",
  welcome_message: "Welcome message",
  handoff_message: "Hand-off message",
  confidence_threshold: "Confidence threshold",
  model: "Model",
  tools: "Tools",
  languages: "Languages of the chat",
  handoff: "Hand-off",
  handoff_off_messages: "Messages instead of a hand-off",
  handoff_words: "Words that always hand off",
};

/** The model of an agent without one of its own. */
const OWN = "the deployment’s own";

/** Names the settings in which a version differs from the one before. */
export function fieldNames(fields: readonly Field[]): string {
  return fields.map((field) => FIELD_WORDS[field]).join(", ");
}

/** Shows the settings that a version changes. They are read when the list is opened. */
export function VersionDifferences({ agentId, number, base }: { agentId: string; number: number; base: number | null }) {
  const query = useQuery(`${agentId} ${number}`, (signal) =>
    api.getAgentVersion({ agent_id: agentId, version: String(number) }, { signal }),
  );
  return (
    <Loaded query={query} rows={2}>
      {({ differences }) =>
        differences ? <Differences of={differences} /> : <p class="quiet">Version {base} is not kept any more, so this is not known.</p>
      }
    </Loaded>
  );
}

/** The values of settings before and after a change. */
export function Differences({ of }: { of: readonly Difference[] }) {
  return (
    <dl class="stack differences">
      {of.map((difference) => (
        <div key={difference.field}>
          <dt>
            <strong>{FIELD_WORDS[difference.field]}</strong>
          </dt>
          <dd>
            <Change {...difference} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Change({ field, before, after }: Difference) {
  switch (field) {
    case "instructions":
    case "welcome_message":
    case "handoff_message":
      return <TextChange before={(before as string | null) ?? ""} after={(after as string | null) ?? ""} />;
    case "tools":
      return <p>{changedEntries(byName(before as Named[]), byName(after as Named[])) || "The stored values of headers have changed."}</p>;
    case "languages":
    case "handoff_off_messages":
      return <p>{changedEntries(before as Entries, after as Entries)}</p>;
    case "handoff_words":
      return <TextChange before={(before as string[]).join(", ")} after={(after as string[]).join(", ")} />;
    case "confidence_threshold":
      return (
        <p>
          From {formatNumber(before as number)} to {formatNumber(after as number)}
        </p>
      );
    default:
      return (
        <p>
          From {(before as string | null) ?? OWN} to {(after as string | null) ?? OWN}
        </p>
      );
  }
}

/** A text before and after a change, with what differs marked. */
function TextChange({ before, after }: { before: string; after: string }) {
  const [start, removed, added, end] = splitAtChange(before, after);
  return (
    <div class="columns">
      <section aria-label="Before">
        <h4>Before</h4>
        <p class="plain">{before === "" ? <span class="quiet">None</span> : [start, <del key="changed">{removed}</del>, end]}</p>
      </section>
      <section aria-label="After">
        <h4>After</h4>
        <p class="plain">{after === "" ? <span class="quiet">None</span> : [start, <ins key="changed">{added}</ins>, end]}</p>
      </section>
    </div>
  );
}

/** How many characters are shown before and after the part of a text that has changed. */
const CONTEXT = 120;

/** Splits two texts into the end of their common beginning, the words that differ in each, and the beginning of their common end. */
function splitAtChange(before: string, after: string): [start: string, removed: string, added: string, end: string] {
  const [one, other] = [before.split(/(\s+)/), after.split(/(\s+)/)];
  const most = Math.min(one.length, other.length);
  let first = 0;
  while (first < most && one[first] === other[first]) first++;
  let last = 0;
  while (last < most - first && one.at(-1 - last) === other.at(-1 - last)) last++;
  const start = one.slice(0, first).join("");
  const end = one.slice(one.length - last).join("");
  return [
    start.length > CONTEXT ? `…${start.slice(-CONTEXT)}` : start,
    one.slice(first, one.length - last).join(""),
    other.slice(first, other.length - last).join(""),
    end.length > CONTEXT ? `${end.slice(0, CONTEXT)}…` : end,
  ];
}

interface Named {
  name: string;
}
type Entries = Record<string, unknown>;

function byName(all: readonly Named[]): Entries {
  return Object.fromEntries(all.map((one) => [one.name, one]));
}

/** Says which entries were added, removed and changed. */
function changedEntries(before: Entries, after: Entries): string {
  const [old, now] = [Object.keys(before), Object.keys(after)];
  const changes = [
    ["Added", now.filter((name) => !(name in before))],
    ["Removed", old.filter((name) => !(name in after))],
    ["Changed", old.filter((name) => name in after && JSON.stringify(before[name]) !== JSON.stringify(after[name]))],
  ] as const;
  return changes
    .filter(([, names]) => names.length > 0)
    .map(([word, names]) => `${word}: ${names.join(", ")}.`)
    .join(" ");
}
