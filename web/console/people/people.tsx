import { useEffect, useRef, useState } from "preact/hooks";
import { Link } from "wouter-preact";
import { api, type Schemas } from "../api.ts";
import { useShortcuts } from "../keyboard.ts";
import { hasScope } from "../session.ts";
import { Button } from "../ui/button.tsx";
import { Confirm } from "../ui/dialog.tsx";
import { Select, TextField } from "../ui/field.tsx";
import { usePages } from "../lists.ts";
import { focusSearch, PageFrame, saveFile } from "../ui/page.tsx";
import { PagesTable } from "../ui/pages.tsx";
import { Empty } from "../ui/states.tsx";
import { countOf, formatNumber, Time } from "../ui/format.tsx";
import { attempt, showMessage, showError } from "../ui/toast.tsx";
import { readForm } from "../ui/form.ts";

type Found = Schemas["PrivacyFound"];

const KINDS = [
  ["email", "Email"],
  ["external_id", "Your id of the person"],
  ["anon_id", "Visitor id"],
] as const;

/** The names of the kinds of records, in singular and plural. */
const RECORDS: Record<string, [one: string, many: string]> = {
  visitors: ["visitor", "visitors"],
  conversations: ["conversation", "conversations"],
  messages: ["message", "messages"],
  leads: ["lead", "leads"],
  handoffs: ["hand-off", "hand-offs"],
};

type Identifier = Found["identifier"];

/** Lists the latest visitors, and finds, exports and erases the data of a person. */
export function People() {
  const [kind, setKind] = useState<Found["identifier"]["type"]>("email");
  const [found, setFound] = useState<Found>();
  const [isBusy, setBusy] = useState(false);
  useShortcuts({ "/": focusSearch });
  const latest = useRef<AbortController>(undefined);
  const find = async ({ type, value }: Identifier) => {
    latest.current?.abort();
    const controller = new AbortController();
    latest.current = controller;
    setBusy(true);
    try {
      setFound(await api.findPerson({ [type]: value }, { signal: controller.signal }));
    } catch (error) {
      if (controller.signal.aborted) return;
      setFound(undefined);
      showError(error);
    }
    setBusy(false);
  };
  return (
    <PageFrame title="People">
      <p class="quiet">Find what is stored about a person, export it, or erase it.</p>
      <form class="inline-form" onSubmit={(event) => void find({ type: kind, value: readForm(event).text("value") })}>
        <Select label="Find by" options={KINDS} value={kind} onChoose={setKind} />
        <TextField
          label={KINDS.find(([id]) => id === kind)![1]}
          name="value"
          data-search
          type={kind === "email" ? "email" : "text"}
          required
          maxLength={320}
        />
        <Button variant="primary" type="submit" isBusy={isBusy}>
          Find
        </Button>
      </form>
      {found && <Person key={found.identifier.value} found={found} onErased={() => setFound(undefined)} />}
      {hasScope("conversations:read") && <LatestVisitors onFind={(identifier) => void find(identifier)} />}
    </PageFrame>
  );
}

/** The visitors of the latest conversations, each once. */
function LatestVisitors({ onFind }: { onFind: (identifier: Identifier) => void }) {
  const pages = usePages(
    "visitors",
    (page, options) => api.listConversations(page, options),
    ({ kind }) => kind === "conversation",
  );
  const seen = new Set<string | undefined>([undefined]);
  const items = pages.items.filter(({ visitor }) => {
    const isNew = !seen.has(visitor?.id);
    seen.add(visitor?.id);
    return isNew;
  });
  return (
    <section class="stack" aria-label="Latest visitors">
      <h2>Latest visitors</h2>
      <PagesTable
        pages={{ ...pages, items }}
        label="Visitors"
        columns={[
          ["Name", ({ visitor }) => visitor?.name ?? "–"],
          ["Email", ({ visitor }) => visitor?.email ?? "–"],
          ["Your id", ({ visitor }) => visitor?.external_id ?? "–"],
          ["Last message", ({ last_message_at: at }) => <Time at={at} />],
          ["Conversation", ({ id }) => <Link href={`~/inbox/${id}`}>Open</Link>],
          [
            "Stored data",
            ({ visitor }) => (
              <Button
                variant="quiet"
                aria-label={`Look up ${visitor?.name ?? visitor?.email ?? visitor?.anon_id}`}
                onClick={() => onFind({ type: "anon_id", value: visitor?.anon_id ?? "" })}
              >
                Look up
              </Button>
            ),
          ],
        ]}
        empty={<Empty title="Nobody has written yet">Whoever writes to an agent is listed here.</Empty>}
      />
    </section>
  );
}

function Person({ found, onErased }: { found: Found; onErased: () => void }) {
  const { identifier, counts, visitors, shared_visitors: shared } = found;
  const [isErasing, setErasing] = useState(false);
  // The button that looks somebody up may be far below.
  const card = useRef<HTMLElement>(null);
  useEffect(() => card.current?.focus(), [found]);
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0) + visitors.length;
  const query = { [identifier.type]: identifier.value };
  const exportAll = () =>
    attempt(async () => {
      const data = await api.exportPerson(query);
      saveFile("person.json", new Blob([JSON.stringify(data, null, 2)], { type: "application/json" }));
    });
  const props = { ref: card, class: "card", "aria-label": "Found", tabIndex: -1 };
  if (total === 0 && shared.length === 0)
    return (
      <section {...props}>
        <Empty title="Nothing is stored about this person">Look for another identifier too.</Empty>
      </section>
    );
  return (
    <section {...props}>
      <h2>{identifier.value}</h2>
      <div class="cards">
        {Object.entries({ visitors: visitors.length, ...counts }).map(([name, count]) => (
          <div key={name}>
            <p class="big-number">{formatNumber(count)}</p>
            <p class="quiet">{RECORDS[name]?.[count === 1 ? 0 : 1] ?? name}</p>
          </div>
        ))}
      </div>
      {shared.length > 0 && (
        <p class="banner warning">
          {countOf(shared.length, "visitor shares", "visitors share")} this address with another person and{" "}
          {shared.length === 1 ? "is" : "are"} not counted here: search by the visitor id.
        </p>
      )}
      <div class="actions">
        <Button onClick={() => void exportAll()}>Export</Button>
        {hasScope("privacy:write") && (
          <Button variant="danger" onClick={() => setErasing(true)}>
            Erase …
          </Button>
        )}
      </div>
      {isErasing && <Erase found={found} total={total} onClose={() => setErasing(false)} onErased={onErased} />}
    </section>
  );
}

function Erase({
  found: { identifier, counts },
  total,
  onClose,
  onErased,
}: {
  found: Found;
  total: number;
  onClose: () => void;
  onErased: () => void;
}) {
  const [typed, setTyped] = useState("");
  const erase = async () => {
    try {
      const { deleted } = await api.erasePerson({ [identifier.type]: identifier.value });
      // The same kinds that were counted before; `deleted` also has what belongs to them, such as events.
      const kinds = ["visitors", ...Object.keys(counts)];
      showMessage(
        `Erased ${countOf(
          kinds.reduce((sum, kind) => sum + (deleted[kind] ?? 0), 0),
          "record",
        )}`,
      );
      onErased();
    } catch (error) {
      showError(error);
    }
  };
  return (
    <Confirm
      title="Erase this person"
      confirm={`Erase ${countOf(total, "record")}`}
      isDanger
      isDisabled={typed.trim() !== identifier.value}
      onClose={onClose}
      onConfirm={erase}
    >
      <p>Conversations, messages, leads and everything else of this person are erased for good.</p>
      <TextField
        label={`Type ${identifier.value} to confirm`}
        value={typed}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        autoComplete="off"
      />
    </Confirm>
  );
}
