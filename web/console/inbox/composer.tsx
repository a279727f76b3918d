import { useEffect, useRef, useState } from "preact/hooks";
import { findGap } from "../../../src/conversations/reply-variables.ts";
import { signal } from "@preact/signals";
import type { ComponentChildren, TargetedKeyboardEvent } from "preact";
import { type Attachment, textOfFiles } from "../../shared/attachments.ts";
import type { FileWords } from "../../shared/files.tsx";
import type { Uploads } from "../../shared/uploads.ts";
import { api, CONSOLE_HEADERS, type Schemas, watchStatus } from "../api.ts";
import { useShortcuts } from "../keyboard.ts";
import { showReplying, viewers } from "../live.ts";
import { author, me } from "../session.ts";
import { Button } from "../ui/button.tsx";
import { Confirm } from "../ui/dialog.tsx";
import { useModule } from "../ui/lazy.tsx";
import { attempt } from "../ui/toast.tsx";
import { beginSending, type Draft, endSending, keepDraft, readDraft } from "./drafts.ts";
import { fileTools, loadFileTools } from "./file-tools.ts";

loadFileTools().catch(() => undefined);

/** A message that is being sent. */
export interface Sending {
  key: number;
  content: string;
  isNote: boolean;
  attachments: readonly Attachment[];
}

interface Props {
  conversation: Schemas["ConversationWithMessages"];
  begin: (message: Omit<Sending, "key">) => Sending;
  end: (one: Sending) => void;
  reload: () => void;
  onResolved: (before: Schemas["Conversation"]["status"]) => void;
}

/** Whether the reply or note that the user sent last is stored. */
export let lastSent = Promise.resolve(true);

/** The form for replies and notes. Its text survives a reload, a failed request, and the end of the session. */
export function Composer(props: Props) {
  const { conversation } = props;
  const { id } = conversation;
  const field = useRef<HTMLTextAreaElement>(null);
  const { draft, write, take, settle, startedAt } = useDraft(id);
  const [isAsking, setAsking] = useState<"reply" | "resolve" | undefined>();
  const tools = fileTools.value;
  const uploads = tools && uploadsOf(id, tools);
  useEffect(() => fit(field.current), [draft.text]);
  const saved = useModule(() => import("./saved-replies.tsx"));
  const gap = findGap(draft.text);
  const focus = (isNote: boolean) => {
    write({ ...draft, isNote });
    field.current?.focus();
  };
  const [isSuggesting, setSuggesting] = useState(false);
  const endSuggestion = (text?: string) => {
    // A note that has been begun must not become part of a reply.
    const isNote = draft.isNote && draft.text.trim() !== "";
    if (text !== undefined) write({ text: [draft.text.trimEnd(), text].filter(Boolean).join("\n\n"), isNote });
    setSuggesting(false);
    field.current?.focus();
  };
  useShortcuts({ r: () => focus(false), n: () => focus(true), g: () => setSuggesting(true) });

  const submit = async (resolve: boolean) => {
    const { isNote } = draft;
    const text = draft.text.trim();
    const attachments = (!isNote && uploads?.ready) || [];
    const content = text || textOfFiles(attachments);
    if (content === "" || (!isNote && uploads?.isBusy)) return;
    take();
    if (!isNote) uploads?.take();
    const one = props.begin({ content, isNote, attachments });
    lastSent = attempt(() => send(id, { content, isNote, resolve, attachments }));
    const isStored = await lastSent;
    settle(draft, isStored);
    if (isStored) {
      props.reload();
      // The reply, which cannot be undone, has taken the conversation.
      if (resolve) props.onResolved("human_active");
    } else {
      lastSent = Promise.resolve(true);
      uploads?.restore(attachments);
    }
    props.end(one);
  };
  const submitOrConfirm = (resolve: boolean) => {
    if (gap) return select(field.current, gap);
    const isRisky = !draft.isNote && (isAnyoneReplying() || hasReplySince(conversation, startedAt.current));
    if (isRisky) setAsking(resolve ? "resolve" : "reply");
    else void submit(resolve);
    return undefined;
  };
  const isEmpty = draft.text.trim() === "" && (draft.isNote || !uploads?.ready.length);
  const files = !draft.isNote && uploads ? { uploads, words: FILE_WORDS } : undefined;
  return (
    <form
      class={draft.isNote ? "composer is-note" : "composer"}
      onSubmit={(event) => {
        event.preventDefault();
        submitOrConfirm(false);
      }}
      {...(files && files.uploads.handlers)}
    >
      <KindTabs isNote={draft.isNote} onChange={focus} onSuggest={() => setSuggesting(true)} />
      {isSuggesting && <Suggestion conversationId={id} onEnd={endSuggestion} />}
      <textarea
        ref={field}
        aria-label={draft.isNote ? "Note for the team" : "Reply to the visitor"}
        placeholder={draft.isNote ? "Only your team sees this." : "Write a reply. The agent then stops answering."}
        value={draft.text}
        rows={2}
        maxLength={8000}
        onInput={({ currentTarget }) => write({ ...draft, text: currentTarget.value })}
        onBlur={() => showReplying(id, false)}
        onFocus={() => showReplying(id, draft.text !== "" && !draft.isNote)}
        onKeyDown={(event) => handleKey(event, submitOrConfirm)}
      />
      {saved && <saved.SavedReplies {...{ field, conversation }} text={draft.text} write={(text) => write({ ...draft, text })} />}
      <Gap placeholder={gap?.placeholder} />
      {tools && files && <tools.PendingFiles {...files} />}
      <Actions
        isNote={draft.isNote}
        isEmpty={isEmpty || (!draft.isNote && uploads?.isBusy === true)}
        attach={tools && files && <tools.AttachButton {...files} class="icon-button" />}
        onSendAndResolve={() => submitOrConfirm(true)}
      />
      {isAsking && (
        <SendAnyway
          onClose={() => setAsking(undefined)}
          onConfirm={() => {
            setAsking(undefined);
            void submit(isAsking === "resolve");
          }}
        />
      )}
    </form>
  );
}

/** Escape leaves the field, and Enter with Ctrl or Cmd sends; with Shift as well, it also resolves. */
function handleKey(event: TargetedKeyboardEvent<HTMLTextAreaElement>, submit: (resolve: boolean) => void): void {
  if (event.key === "Escape") event.currentTarget.blur();
  if (event.key !== "Enter" || !(event.metaKey || event.ctrlKey)) return;
  event.preventDefault();
  submit(event.shiftKey);
}

/** The text that the user writes for a conversation, and when the user began to write it. */
function useDraft(conversationId: string) {
  const [draft, setDraft] = useState(() => readDraft(conversationId));
  const startedAt = useRef<string | undefined>(undefined);
  const show = (next: Draft) => {
    setDraft(next);
    startedAt.current = next.text === "" ? undefined : (startedAt.current ?? new Date().toISOString());
    showReplying(conversationId, next.text !== "" && !next.isNote);
  };
  const write = (next: Draft) => {
    keepDraft(conversationId, next);
    show(next);
  };
  /** Empties the field when its text is sent. */
  const take = () => {
    beginSending(conversationId, draft.text);
    show({ ...draft, text: "" });
  };
  /** If the text that was sent could not be stored, puts it back before what has been written since then. */
  const settle = (sent: Draft, isStored: boolean) => {
    endSending(conversationId, sent.text);
    if (isStored) return;
    const since = readDraft(conversationId);
    // A note that has been begun since then must not become part of a reply.
    const isNote = sent.isNote || (since.isNote && since.text !== "");
    write({ text: [sent.text, since.text].filter(Boolean).join("\n\n"), isNote });
  };
  return { draft, write, take, settle, startedAt };
}

/** Asks whether a reply is sent although a colleague replies too. */
function SendAnyway(props: { onClose: () => void; onConfirm: () => void }) {
  return (
    <Confirm title="Somebody else is replying" confirm="Send anyway" {...props}>
      <p>{isAnyoneReplying() ? "A colleague is writing a reply to this conversation." : "A colleague replied while you were writing."}</p>
    </Confirm>
  );
}

/** Names a variable of a saved reply that has no value. */
function Gap({ placeholder }: { placeholder: string | undefined }) {
  if (placeholder === undefined) return null;
  return (
    <p class="gap" role="status">
      Replace <code>{placeholder}</code> before you send it. The conversation has no value for it.
    </p>
  );
}

/** A reply that the agent suggests. @param onEnd called with the text if it is used. */
function Suggestion({ conversationId, onEnd }: { conversationId: string; onEnd: (text?: string) => void }) {
  const module = useModule(() => import("./suggested-reply.tsx"));
  return module ? <module.SuggestedReply conversationId={conversationId} onUse={onEnd} onClose={() => onEnd()} /> : null;
}

interface KindTabsProps {
  isNote: boolean;
  onChange: (isNote: boolean) => void;
  onSuggest: () => void;
}

function KindTabs({ isNote, onChange, onSuggest }: KindTabsProps) {
  return (
    <div class="tabs" role="group" aria-label="What to write">
      <button type="button" aria-pressed={!isNote} onClick={() => onChange(false)}>
        Reply
      </button>
      <button type="button" aria-pressed={isNote} onClick={() => onChange(true)}>
        Note
      </button>
      <button type="button" onClick={onSuggest} title="Suggest a reply (g)">
        Suggest
      </button>
    </div>
  );
}

interface ActionsProps {
  isNote: boolean;
  isEmpty: boolean;
  /** The button that adds files. */
  attach: ComponentChildren;
  onSendAndResolve: () => void;
}

function Actions({ isNote, isEmpty, attach, onSendAndResolve }: ActionsProps) {
  return (
    <div class="actions">
      {attach}
      <span class="hint">
        <kbd>Ctrl</kbd> <kbd>Enter</kbd> {isNote ? "adds it" : "sends"} · <kbd>/</kbd> saved reply
      </span>
      {!isNote && (
        <Button disabled={isEmpty} onClick={onSendAndResolve} title="Ctrl Shift Enter">
          Send and resolve
        </Button>
      )}
      <Button variant="primary" type="submit" disabled={isEmpty}>
        {isNote ? "Add note" : "Send"}
      </Button>
    </div>
  );
}

function send(id: string, { content, isNote, resolve, attachments }: Omit<Sending, "key"> & { resolve: boolean }) {
  if (isNote) return api.addNote({ conversation_id: id, body: { content, author: author() } });
  const files = attachments.length > 0 && { attachments: attachments.map((file) => file.id) };
  return api.replyToConversation({ conversation_id: id, body: { content, resolve, author: author(), ...files } });
}

const FILE_WORDS: FileWords = {
  attach: "Add files",
  files: "Files",
  remove: (name) => `Remove ${name}`,
  uploading: (name) => `Uploading ${name}`,
  problems: {
    too_large: (name) => `${name} is larger than 10 MB.`,
    unsupported: (name) => `${name} is not an image, a PDF or a plain text.`,
    too_many: (name) => `A message has at most five files: ${name} is left out.`,
    failed: (name) => `${name} could not be uploaded. Remove it and try again.`,
  },
};

/** The files of replies by conversation, which wait there like the text while the user looks at others. */
const kept = new Map<string, Uploads>();

function uploadsOf(conversationId: string, tools: NonNullable<typeof fileTools.value>): Uploads {
  const uploads = kept.get(conversationId) ?? createUploads(tools);
  kept.set(conversationId, uploads);
  return uploads;
}

function createUploads({ Uploads, uploadTo }: NonNullable<typeof fileTools.value>): Uploads {
  const target = { url: `${location.origin}/api/v1/attachments`, headers: CONSOLE_HEADERS, watchStatus };
  return new Uploads(signal([]), (file, onProgress, signal) => uploadTo(target, file, onProgress, signal));
}

function isAnyoneReplying(): boolean {
  return viewers.value.all.some((viewer) => viewer.is_replying);
}

/** Whether a colleague has replied since the user began to write. */
function hasReplySince({ messages }: Props["conversation"], startedAt: string | undefined): boolean {
  if (startedAt === undefined) return false;
  return messages.some(({ role, author: { id }, created_at: at }) => role === "human" && id !== me().id && at > startedAt);
}

/** Moves the focus to a part of the text. */
function select(field: HTMLTextAreaElement | null, { start, end }: { start: number; end: number }): void {
  field?.focus();
  field?.setSelectionRange(start, end);
}

/** Makes the field as high as its text, up to a third of the window. */
function fit(field: HTMLTextAreaElement | null): void {
  if (!field) return;
  field.style.height = "auto";
  field.style.height = `${Math.min(field.scrollHeight, innerHeight / 3)}px`;
}
