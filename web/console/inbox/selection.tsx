import { useRef, useState } from "preact/hooks";
import { useShortcuts } from "../keyboard.ts";
import type { ListWindow } from "../lists.ts";
import { hasScope } from "../session.ts";
import { Button } from "../ui/button.tsx";
import { useModule } from "../ui/lazy.tsx";
import { showMessage } from "../ui/toast.tsx";
import type { OfferUndo } from "./inbox.tsx";
import type { ListedConversation } from "./list.tsx";
import { titleOf } from "./words.tsx";

/** The largest number of conversations that the API changes at once. */
const MAX_SELECTED = 100;

/** The conversations of the list that the user has selected, to change them at once. */
export interface Selection {
  /** Whether the list shows checkboxes. */
  isOpen: boolean;
  ids: readonly string[];
  /** The rows of the list that are kept, which can all be selected. */
  shown: readonly ListedConversation[];
  /** Whether `shown` is the whole list. */
  isWhole: boolean;
  /** Selects a conversation or unselects it. @param isRange whether the rows since the one before get the same state. */
  toggle: (id: string, isRange?: boolean) => void;
  selectShown: () => void;
  open: () => void;
  close: () => void;
}

/** Another list begins without a selection, and a conversation that leaves the list leaves the selection. */
export function useSelection(list: ListWindow<ListedConversation>, openId: string | undefined): Selection {
  const [state, setState] = useState<{ key: string; ids: readonly string[] } | undefined>();
  const last = useRef<string | undefined>(undefined);
  const isOpen = state?.key === list.key;
  const shown = list.query.data?.data ?? [];
  const isWhole = shown.length === list.length;
  const ids = (isOpen ? state.ids : []).filter((id) => !isWhole || list.indexOf(id) >= 0);
  const select = (next: readonly string[]) => {
    if (next.length > MAX_SELECTED) showMessage(`At most ${MAX_SELECTED} conversations can be selected`);
    setState({ key: list.key, ids: next.slice(0, MAX_SELECTED) });
  };
  const toggle = (id: string, isRange = false) => {
    const isSelected = ids.includes(id);
    const [from, to] = [list.indexOf(isRange ? last.current : id), list.indexOf(id)].toSorted((one, other) => one - other) as [
      number,
      number,
    ];
    const range = shown.slice(from, to + 1).map((one) => one.id);
    const changed = from < 0 || range.length === 0 ? [id] : range;
    last.current = id;
    select(isSelected ? ids.filter((one) => !changed.includes(one)) : [...new Set([...ids, ...changed])]);
  };
  const open = () => select(ids);
  const selectShown = () => select(shown.map(({ id }) => id));
  const toggleCurrent = () => {
    const focused = document.activeElement?.closest<HTMLElement>(".conversation-list li[data-id]")?.dataset["id"];
    const id = focused ?? openId;
    if (id !== undefined && list.indexOf(id) >= 0) return toggle(id);
    open();
    document.querySelector<HTMLElement>(".conversation-list .row")?.focus();
  };
  useShortcuts(hasScope("conversations:write") ? { v: toggleCurrent, V: selectShown } : {});
  return { isOpen, ids, shown, isWhole, toggle, selectShown, open, close: () => setState(undefined) };
}

/** The button that shows and hides the checkboxes. */
export function SelectButton({ selection: { isOpen, open, close } }: { selection: Selection }) {
  if (!hasScope("conversations:write")) return null;
  return (
    <Button
      variant="quiet"
      aria-label="Select conversations"
      aria-pressed={isOpen}
      title="Select conversations (v)"
      data-select
      onClick={() => (isOpen ? close() : open())}
    >
      Select
    </Button>
  );
}

/** The actions for the selected conversations. Their code is loaded with the first selection. */
export function SelectionBar({ selection, offerUndo }: { selection: Selection; offerUndo: OfferUndo }) {
  const module = useModule(() => import("./bulk-actions.tsx"), selection.isOpen);
  return selection.isOpen && module ? <module.BulkActions selection={selection} offerUndo={offerUndo} /> : null;
}

export function SelectBox({ conversation, selection }: { conversation: ListedConversation; selection: Selection }) {
  if (!selection.isOpen) return null;
  const { id } = conversation;
  return (
    <label class="select-box">
      <input
        type="checkbox"
        aria-label={`Select ${titleOf(conversation)}`}
        checked={selection.ids.includes(id)}
        onClick={({ shiftKey }) => selection.toggle(id, shiftKey)}
      />
    </label>
  );
}
