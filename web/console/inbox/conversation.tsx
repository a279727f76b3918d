import { useEffect, useRef, useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import { api, type Schemas } from "../api.ts";
import { useShortcuts } from "../keyboard.ts";
import { concerns, viewers } from "../live.ts";
import { useQuery } from "../query.ts";
import { hasScope, me } from "../session.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { loadCode, useModule } from "../ui/lazy.tsx";
import { ErrorState, Skeleton } from "../ui/states.tsx";
import { attempt, showMessage } from "../ui/toast.tsx";
import { Composer, lastSent, type Sending } from "./composer.tsx";
import { Transcript } from "./transcript.tsx";
import { CHANNEL_WORDS, isWithTeam, Status, titleOf } from "./words.tsx";

type Conversation = Schemas["ConversationWithMessages"];

interface Props {
  id: string;
  onClose: () => void;
  /** Called when the conversation is resolved, with the status that it had before. */
  onResolved: (before: Conversation["status"]) => void;
}

export function ConversationView({ id, onClose, onResolved }: Props) {
  const query = useQuery(id, (signal) => api.getConversation({ conversation_id: id }, { signal }), concerns("conversation", id));
  const [showsDetails, setShowsDetails] = useState(() => matchMedia("(min-width: 1360px)").matches);
  // They are loaded even if they are not shown yet, so that a key can open them and put the focus there.
  const details = useModule(() => import("./details.tsx"));
  const { data: conversation, error, reload, set } = query;
  useMarkRead(conversation);
  const change = useChange(conversation, set, reload);
  if (!conversation) {
    return (
      <section class="conversation">{error === undefined ? <Skeleton rows={12} /> : <ErrorState error={error} retry={reload} />}</section>
    );
  }
  return (
    <>
      <section class="conversation" aria-label="Conversation">
        <h1 class="sr-only only-narrow">Conversation</h1>
        <Header {...{ conversation, onClose, onResolved, change, showsDetails }} onDetails={setShowsDetails} />
        <Others />
        <Body {...{ conversation, reload, onResolved }} />
      </section>
      {showsDetails && details && <details.Details conversation={conversation} change={change} onClose={() => setShowsDetails(false)} />}
    </>
  );
}

export type Change = (body: Schemas["ConversationUpdate"], done?: string) => Promise<boolean>;

/** Returns a function that updates the conversation. The change is shown at once, and reverted if the request fails. */
function useChange(conversation: Conversation | undefined, set: (data: Conversation) => void, reload: () => void): Change {
  return async (body, done) => {
    if (!conversation) return false;
    const { status, tags, assignee, team_id, priority } = body;
    const routed = { ...(team_id !== undefined && { team_id }), ...(priority && { priority }) };
    set({ ...conversation, ...routed, ...(status && { status }), ...(tags && { tags }), ...(assignee !== undefined && { assignee }) });
    const isDone = await attempt(() => api.updateConversation({ conversation_id: conversation.id, body }), done);
    if (!isDone) set(conversation);
    // Messages may have come in meanwhile.
    reload();
    return isDone;
  };
}

/** Marks the conversation as read while the page is visible. */
function useMarkRead(conversation: Conversation | undefined): void {
  const isUnread = (conversation?.unread_count ?? 0) > 0 && hasScope("conversations:write");
  useEffect(() => {
    if (!isUnread) return undefined;
    const mark = () => {
      if (document.visibilityState === "visible")
        void api.updateConversation({ conversation_id: conversation!.id, body: { read: true } }).catch(() => undefined);
    };
    mark();
    document.addEventListener("visibilitychange", mark);
    return () => document.removeEventListener("visibilitychange", mark);
  }, [conversation?.id, conversation?.unread_count, isUnread]);
}

interface HeaderProps extends Omit<Props, "id"> {
  conversation: Conversation;
  change: Change;
  showsDetails: boolean;
  onDetails: (shows: boolean) => void;
}

function Header({ conversation, onClose, onResolved, change, showsDetails, onDetails }: HeaderProps) {
  const { status } = conversation;
  const title = titleOf(conversation);
  const mayWrite = hasScope("conversations:write");
  const resolve = async () => {
    // A reply takes the conversation, so one that is stored later would reopen it.
    if ((await lastSent) && (await change({ status: "resolved" }))) onResolved(status);
  };
  const handBack = () => void change({ status: "open" }, "The agent answers again");
  const reopen = () => void change({ status: "human_active" }, "Reopened. The agent stays silent until you hand it back");
  const takeOver = () => void change({ status: "human_active" }, "The agent has stopped answering");
  const isMine = conversation.assignee?.id === me().id;
  const [isSnoozing, setSnoozing] = useState(false);
  const assign = () => void change({ assignee: isMine ? null : me() }, isMine ? "Assigned to nobody" : "Assigned to you");
  const addToCases = useMakeCase(conversation.id);
  useShortcuts({
    i: () => onDetails(!showsDetails),
    ...(addToCases && { c: addToCases }),
    ...(mayWrite && {
      ...(status !== "resolved" && { e: () => void resolve() }),
      ...(isWithTeam(status) && { b: handBack }),
      ...(status !== "resolved" && { h: () => setSnoozing(true) }),
      ...(me().name !== "" && { m: assign }),
      t: () => {
        onDetails(true);
        // The field is there once the details are shown.
        setTimeout(focusTag);
      },
    }),
  });
  return (
    <header class="conversation-header">
      <IconButton icon="back" label="Back to the list" class="only-narrow" onClick={onClose} />
      <div class="conversation-title">
        <h2>{title}</h2>
        <p>
          <Status status={status} />{" "}
          {[CHANNEL_WORDS[conversation.channel], conversation.subject].filter((text) => text && text !== title).join(" · ")}
        </p>
        {isWithTeam(status) && conversation.opens_at !== null && <p>Outside business hours, opens {openingTime(conversation.opens_at)}</p>}
      </div>
      {mayWrite && (
        <div class="actions">
          {isWithTeam(status) && (
            <Button variant="quiet" onClick={handBack} title="The agent answers the next message (b)">
              Hand back
            </Button>
          )}
          {(status === "open" || status === "ai_handled") && (
            <Button variant="quiet" onClick={takeOver} title="The agent stops answering">
              Take over
            </Button>
          )}
          {isWithTeam(status) && (
            <Button variant="quiet" onClick={() => setSnoozing(true)} title="Hide it until a time (h)">
              {isSnoozed(conversation) ? "Snoozed" : "Snooze"}
            </Button>
          )}
          {status !== "resolved" && (
            <Button icon="check" onClick={() => void resolve()} title="Resolve (e)">
              Resolve
            </Button>
          )}
          {status === "resolved" && <Button onClick={reopen}>Reopen</Button>}
        </div>
      )}
      {addToCases && <IconButton icon="case" label="Make this a case (c)" onClick={addToCases} />}
      {isSnoozing && <Snooze conversation={conversation} change={change} onClose={() => setSnoozing(false)} />}
      <IconButton
        icon="info"
        label={showsDetails ? "Hide details" : "Show details"}
        aria-expanded={showsDetails}
        onClick={() => onDetails(!showsDetails)}
      />
    </header>
  );
}

/** Returns a function that makes the conversation a case of an evaluation; undefined if the key may not. Its code is loaded when it is used. */
function useMakeCase(conversationId: string): (() => void) | undefined {
  const [, navigate] = useLocation();
  if (!hasScope("knowledge:read") || !hasScope("knowledge:write")) return undefined;
  const make = async () => {
    const { makeCase } = await loadCode(() => import("../knowledge/conversation-case.ts"));
    const { name, href } = await makeCase(conversationId);
    showMessage(`Added to “${name}” as a case. Remove personal data from it.`, { label: "Open", run: () => navigate(href) });
  };
  return () => void attempt(make);
}

const isSnoozed = ({ snoozed_until: until }: Conversation) => until !== null && Date.parse(until) > Date.now();

/** The dialog that snoozes the conversation, which is loaded when it is wanted. */
function Snooze({ conversation, change, onClose }: { conversation: Conversation; change: Change; onClose: () => void }) {
  const module = useModule(() => import("./snooze.tsx"));
  if (!module) return null;
  const snooze = async (until: string | null) => {
    const done = until === null ? "Not snoozed any more" : `Snoozed until ${module.timeOf(new Date(until))}`;
    if (await change({ snoozed_until: until }, done)) onClose();
  };
  return <module.SnoozeDialog isSnoozed={isSnoozed(conversation)} onSnooze={snooze} onClose={onClose} />;
}

/** Formats the time of the next opening in the time zone of the browser. */
function openingTime(at: string): string {
  const format = { weekday: "long", day: "numeric", month: "short", hour: "numeric", minute: "2-digit" } as const;
  return new Date(at).toLocaleString("en", format);
}

/** The other users who have this conversation open. */
function Others() {
  const others = viewers.value.all;
  if (others.length === 0) return null;
  const replying = others.filter((viewer) => viewer.is_replying);
  const active = new Set((replying.length > 0 ? replying : others).map(({ name }) => name || "A colleague"));
  const names = `${new Intl.ListFormat("en").format(active)} ${active.size === 1 ? "is" : "are"}`;
  return (
    <p class={replying.length > 0 ? "banner warning" : "banner"} role="status">
      {replying.length > 0 ? `${names} writing a reply.` : `${names} looking at this too.`}
    </p>
  );
}

/** The summary of a conversation that the agent has handed over, which is loaded when it may be wanted. */
function HandoffSummary({ conversation: { id, handoff } }: { conversation: Conversation }) {
  const isOffered = handoff !== null && handoff.status !== "resolved" && hasScope("conversations:write");
  const summary = useModule(() => import("./summary.tsx"), isOffered);
  return isOffered && summary ? <summary.Summary conversationId={id} /> : null;
}

/** The tool calls that wait for the team. Asking for one makes a hand-off, whose reason may change later, so its reason is not looked at. */
function PendingApprovals({ conversation: { id, handoff } }: { conversation: Conversation }) {
  const hasHandoff = handoff !== null;
  const approvals = useModule(() => import("./approvals.tsx"), hasHandoff);
  return hasHandoff && approvals ? <approvals.Approvals conversationId={id} /> : null;
}

function Body({ conversation, reload, onResolved }: Pick<Props, "onResolved"> & { conversation: Conversation; reload: () => void }) {
  const [sending, setSending] = useState<readonly Sending[]>([]);
  const sent = useRef(0);
  const begin = (message: Omit<Sending, "key">): Sending => {
    const one = { ...message, key: ++sent.current };
    setSending((before) => [...before, one]);
    return one;
  };
  const end = (one: Sending) => setSending((before) => before.filter(({ key }) => key !== one.key));
  return (
    <>
      <HandoffSummary conversation={conversation} />
      <Transcript conversation={conversation} sending={sending} />
      <PendingApprovals key={conversation.id} conversation={conversation} />
      {hasScope("conversations:write") && <Composer {...{ conversation, begin, end, reload, onResolved }} />}
    </>
  );
}

/** Moves the focus to the field for a tag. */
function focusTag(): void {
  document.querySelector<HTMLInputElement>("[data-tag]")?.focus();
}
