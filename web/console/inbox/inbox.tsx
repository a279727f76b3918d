import { useEffect, useRef, useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import { api } from "../api.ts";
import { useShortcuts } from "../keyboard.ts";
import type { ListWindow } from "../lists.ts";
import { showPresence } from "../live.ts";
import { useQuery } from "../query.ts";
import { hasScope, keyOf, session } from "../session.ts";
import { useModule } from "../ui/lazy.tsx";
import { Empty, Skeleton } from "../ui/states.tsx";
import { attempt, showMessage } from "../ui/toast.tsx";
import { forgetOldDrafts } from "./drafts.ts";
import { ConversationList, type Filter, type ListedConversation, readFilter, useConversations, useCount } from "./list.tsx";
import { useSelection } from "./selection.tsx";
import { reopenedStatus } from "./words.tsx";

/** The inbox of the team: the list of conversations, the open one, and its details. */
export function Inbox() {
  const [path, navigate] = useLocation();
  const openId = path.split("/")[1] || undefined;
  const [filter, setFilter] = useFilter();
  const list = useConversations(filter);
  useEffect(forgetOldDrafts, []);
  useEffect(() => showPresence(openId ?? null), [openId]);
  useEffect(() => () => showPresence(null), []);
  const open = (id: string | undefined) => navigate(id === undefined ? "/" : `/${id}`);
  const { current, moveBy, cancel } = useSteps(list, openId, open);
  // When the user opens or closes a conversation, a step whose row is still being read is cancelled.
  const choose = (id: string | undefined) => {
    cancel();
    open(id);
  };
  const { undo, offerUndo, onResolved } = useUndo(choose);
  const latest = useRef({ openId, moveBy });
  latest.current = { openId, moveBy };
  const selection = useSelection(list, openId);
  const FirstSteps = useFirstSteps();
  // The list is shown first; a conversation that is opened then does not wait for its code.
  const view = useModule(() => import("./conversation.tsx"));
  useShortcuts({
    j: () => moveBy(1),
    k: () => moveBy(-1),
    ...(undo && { z: undo }),
    Escape: () => (selection.isOpen ? selection.close() : choose(undefined)),
  });
  return (
    <div class={["inbox", openId !== undefined ? "is-open" : FirstSteps && "is-new"].filter(Boolean).join(" ")}>
      <ConversationList {...{ list, filter, openId, current, selection, offerUndo }} onFilter={setFilter} onOpen={choose} />
      {openId === undefined ? (
        <section class="conversation-empty">
          {FirstSteps ? (
            <FirstSteps />
          ) : (
            <Empty title="No conversation is open">
              Choose one from the list, or press <kbd>j</kbd>. <kbd>?</kbd> lists all keys.
            </Empty>
          )}
        </section>
      ) : !view ? (
        <section class="conversation">
          <Skeleton rows={12} />
        </section>
      ) : (
        <view.ConversationView
          key={openId}
          id={openId}
          onClose={() => choose(undefined)}
          onResolved={(before) => {
            onResolved(openId, before);
            // The user may have left the conversation while its resolution was stored.
            if (latest.current.openId === openId) latest.current.moveBy(1);
          }}
        />
      )}
    </div>
  );
}

/** Loads the first steps if the workspace has no conversation. They need to know its agents. */
function useFirstSteps() {
  const isNew = useCount({ view: "all" }, hasScope("agents:read")) === 0;
  return useQuery(`${isNew}`, async () => (isNew ? (await import("./first-steps.tsx")).FirstSteps : undefined)).data;
}

/** The filter when the inbox was last left, and who was signed in. */
let last: { filter: Filter; user: string | undefined } | undefined;

/** The filter of the list. It is in the address, so that a reload, a bookmark and the way back keep it. */
function useFilter(): [Filter, (filter: Filter) => void] {
  const user = keyOf(session.value);
  const [filter, setFilter] = useState<Filter>(
    () => readFilter(location.search) ?? (last?.user === user ? last?.filter : undefined) ?? { view: "waiting" },
  );
  useEffect(() => {
    last = { filter, user };
    const { view, q, team } = filter;
    const parameters = new URLSearchParams({ ...(view !== "waiting" && { view }), ...(q && { q }), ...(team && { team }) }).toString();
    history.replaceState(history.state, "", `${location.pathname}${parameters && `?${parameters}`}${location.hash}`);
  }, [filter]);
  useEffect(() => {
    const onBack = () => setFilter(readFilter(location.search) ?? { view: "waiting" });
    addEventListener("popstate", onBack);
    return () => {
      removeEventListener("popstate", onBack);
      // The filter is of no other page.
      history.replaceState(history.state, "", location.pathname + location.hash);
    };
  }, []);
  return [filter, setFilter];
}

/** Shows a message with a button that undoes what was done. */
export type OfferUndo = (text: string, undo: () => Promise<unknown>) => void;

/** Offers to undo the latest resolution. `onResolved` takes the conversation and the status that it had before. */
function useUndo(open: (id: string) => void) {
  const [undo, setUndo] = useState<() => void>();
  const offerUndo: OfferUndo = (text, run) => {
    const undoThis = () => {
      setUndo(undefined);
      dismiss();
      void attempt(run, "Reopened");
    };
    setUndo(() => undoThis);
    const dismiss = showMessage(text, { label: "Undo", run: undoThis });
  };
  const onResolved = (id: string, before: ListedConversation["status"]) =>
    offerUndo("Resolved", async () => {
      await api.updateConversation({ conversation_id: id, body: { status: reopenedStatus(before) } });
      open(id);
    });
  return { undo, offerUndo, onResolved };
}

/** A step to another conversation, which is not open yet. */
interface Step {
  /** The key of the list in which the step was made. */
  key: string;
  /** The row in which the conversation was when the step was made. */
  at: number;
  /** The id of the conversation; undefined until its row is read. The row may change before the conversation is open. */
  id: string | undefined;
}

/** Opens the next or previous conversation of the list, even if it has to be read first. */
function useSteps(list: ListWindow<ListedConversation>, openId: string | undefined, open: (id: string) => void) {
  const [wanted, setWanted] = useState<Step | undefined>();
  const isPending = (step: Step | undefined): step is Step =>
    step?.key === list.key && (step.id !== undefined || step.at < (list.length ?? 0));
  const step = isPending(wanted) ? wanted : undefined;
  const opened = list.indexOf(openId);
  // The last position of the open conversation, for when it leaves the list.
  const last = useRef<{ key: string; id: string; at: number } | undefined>(undefined);
  if (openId !== undefined && opened >= 0) last.current = { key: list.key, id: openId, at: opened };
  const left = last.current && last.current.id === openId && last.current.key === list.key ? last.current.at : undefined;
  const id = step && (step.id ?? list.itemAt(step.at)?.id);
  useEffect(() => {
    if (!step || id === undefined) return;
    const next = id === openId ? undefined : { ...step, id };
    setWanted((before) => (before === step ? next : before));
    if (next) open(id);
  }, [id, openId]);
  // A step is forgotten when another list is shown: a user who returns to the first list later does not expect it any more.
  useEffect(() => () => setWanted(undefined), [list.key]);
  const positionOf = ({ id: stepId, at }: Step): number => {
    const now = list.indexOf(stepId);
    return now >= 0 ? now : at;
  };
  const nextOf = (by: number): number => {
    if (opened >= 0) return opened + by;
    if (left === undefined) return 0;
    // If the conversation has left the list, the one below has moved up to its position; otherwise it is not among the rows that are kept.
    return by > 0 && list.itemAt(left) !== undefined ? left : left + by;
  };
  // The user may press keys faster than conversations are shown.
  const moveBy = (by: number) =>
    setWanted((before) => {
      const at = isPending(before) ? positionOf(before) + by : nextOf(by);
      return at >= 0 && at < (list.length ?? 0) ? { key: list.key, at, id: list.itemAt(at)?.id } : before;
    });
  const at = step && positionOf(step);
  return { current: at === undefined ? { key: openId, at: opened } : { key: at, at }, moveBy, cancel: () => setWanted(undefined) };
}
