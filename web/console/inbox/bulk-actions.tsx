import { useState } from "preact/hooks";
import { api, type Schemas } from "../api.ts";
import { useShortcuts } from "../keyboard.ts";
import { reloadConversations } from "../live.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { FormEnd, TextField } from "../ui/field.tsx";
import { useForm } from "../ui/form.ts";
import { formatNumber } from "../ui/format.tsx";
import { showError, showMessage } from "../ui/toast.tsx";
import { lastSent } from "./composer.tsx";
import type { OfferUndo } from "./inbox.tsx";
import type { Selection } from "./selection.tsx";
import { SnoozeDialog, timeOf } from "./snooze.tsx";
import { reopenedStatus } from "./words.tsx";

type Changes = Omit<Schemas["ConversationsUpdate"], "ids">;
type Result = Schemas["ConversationsUpdated"]["data"][number];

/** The bar above the list with what can be done with the selected conversations. */
export function BulkActions({ selection, offerUndo }: { selection: Selection; offerUndo: OfferUndo }) {
  const { ids, shown, isWhole } = selection;
  const [isBusy, setBusy] = useState(false);
  const [asking, setAsking] = useState<"tag" | "snooze" | undefined>();
  const statusOf = new Map(shown.map(({ id, status }) => [id, status]));
  const resolved = ids.filter((id) => statusOf.get(id) === "resolved").length;
  const change = async (changes: Changes, done: string): Promise<Result[]> => {
    setBusy(true);
    try {
      // A reply takes the conversation, so one that is stored later would reopen it.
      await lastSent;
      const { data } = await api.updateConversations({ body: { ids: [...ids], ...changes } });
      const text = resultText(data, done);
      if (changes.status === "resolved" && data.some(isChanged)) offerUndo(text, () => reopen(data));
      else showMessage(text);
      selection.close();
      reloadConversations();
      // The button that was pressed is gone.
      setTimeout(() => document.activeElement === document.body && document.querySelector<HTMLElement>("[data-select]")?.focus());
      return data;
    } finally {
      setBusy(false);
    }
  };
  const run = (changes: Changes, done: string) => void change(changes, done).catch(showError);
  const resolve = () => run({ status: "resolved" }, "resolved");
  const putBack = () => run({ status: "human_active" }, "reopened");
  const none = ids.length === 0;
  const keys = {
    E: resolve,
    O: putBack,
    T: () => setAsking("tag"),
    H: () => setAsking("snooze"),
  };
  useShortcuts(none || isBusy ? {} : keys);
  return (
    <div class="bulk banner" role="group" aria-label="Selected conversations">
      <p class="grow" role="status">
        {none ? "Choose conversations" : `${formatNumber(ids.length)} selected`}
      </p>
      {ids.length < shown.length && (
        <Button variant="quiet" onClick={selection.selectShown} title="Select all that are loaded (Shift v)">
          {isWhole ? `All ${formatNumber(shown.length)}` : `These ${formatNumber(shown.length)}`}
        </Button>
      )}
      <Button variant="quiet" onClick={selection.close} title="Select none (Esc)">
        Cancel
      </Button>
      <div class="actions">
        {(none || resolved < ids.length) && (
          <Button variant="primary" isBusy={isBusy} disabled={none} onClick={resolve} title="Resolve (Shift e)">
            Resolve
          </Button>
        )}
        {resolved > 0 && (
          <Button isBusy={isBusy} onClick={putBack} title="Reopen for the team (Shift o)">
            Reopen
          </Button>
        )}
        <Button disabled={none || isBusy} onClick={keys.T} title="Add or remove a tag (Shift t)">
          Tag
        </Button>
        <Button disabled={none || isBusy} onClick={keys.H} title="Hide them until a time (Shift h)">
          Snooze
        </Button>
      </div>
      {asking === "tag" && <TagDialog tags={tagsOf(selection)} count={ids.length} change={change} onClose={() => setAsking(undefined)} />}
      {asking === "snooze" && (
        <SnoozeDialog
          isSnoozed={shown.some(({ id, snoozed_until: until }) => ids.includes(id) && until !== null && Date.parse(until) > Date.now())}
          onSnooze={async (until) => {
            const done = until === null ? "not snoozed any more" : `snoozed until ${timeOf(new Date(until))}`;
            await change({ snoozed_until: until }, done).then(() => setAsking(undefined), showError);
          }}
          onClose={() => setAsking(undefined)}
        />
      )}
    </div>
  );
}

const isChanged = ({ outcome }: Result) => outcome === "changed";

/** Gives conversations that were resolved by mistake their status back. */
async function reopen(results: readonly Result[]): Promise<void> {
  const groups = Map.groupBy(results.filter(isChanged), ({ previous_status: before }) => reopenedStatus(before!));
  for (const [status, group] of groups) await api.updateConversations({ body: { ids: group.map(({ id }) => id), status } });
  reloadConversations();
}

/** Says what happened, such as "3 resolved; 1 unchanged". */
function resultText(results: readonly Result[], done: string): string {
  const count = (outcome: Result["outcome"]) => results.filter((result) => result.outcome === outcome).length;
  const parts: [count: number, text: string][] = [
    [count("changed"), done],
    [count("unchanged"), "unchanged"],
    [count("too_many_tags"), "with 20 tags already"],
    [count("not_found"), "not found"],
  ];
  const told = parts.filter(([number]) => number > 0).map(([number, text]) => `${formatNumber(number)} ${text}`);
  return told.join("; ");
}

/** The tags of the selected conversations that are shown, each once. */
function tagsOf({ ids, shown }: Selection): string[] {
  return [...new Set(shown.flatMap(({ id, tags }) => (ids.includes(id) ? tags : [])))].toSorted((one, other) =>
    one.localeCompare(other, undefined, { numeric: true }),
  );
}

interface TagProps {
  /** The tags that can be removed. */
  tags: readonly string[];
  count: number;
  change: (changes: Changes, done: string) => Promise<unknown>;
  onClose: () => void;
}

function TagDialog({ tags, count, change, onClose }: TagProps) {
  const form = useForm(async ({ text }) => {
    await change({ add_tags: [text("tag")] }, `tagged “${text("tag")}”`);
    onClose();
  });
  const remove = (tag: string) => void change({ remove_tags: [tag] }, `without the tag “${tag}”`).then(onClose, showError);
  return (
    <Dialog title={count === 1 ? "Tag 1 conversation" : `Tag ${formatNumber(count)} conversations`} onClose={onClose}>
      <form class="stack" onSubmit={form.onSubmit}>
        <TextField label="Tag" name="tag" required maxLength={200} error={form.errorAt("add_tags.0")} />
        <FormEnd form={form}>Add</FormEnd>
      </form>
      {tags.length > 0 && (
        <section class="stack">
          <h3>Remove a tag</h3>
          <div class="tags">
            {tags.map((tag) => (
              <span key={tag} class="tag">
                <span title={tag}>{tag}</span>
                <button type="button" aria-label={`Remove the tag ${tag}`} onClick={() => remove(tag)}>
                  ×
                </button>
              </span>
            ))}
          </div>
        </section>
      )}
    </Dialog>
  );
}
