import type { RefObject } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { fillVariables, findGap } from "../../../src/conversations/reply-variables.ts";
import { useAgents } from "../agents.tsx";
import { api, type Schemas } from "../api.ts";
import { useQuery } from "../query.ts";
import { me, session } from "../session.ts";

type SavedReply = Schemas["SavedReply"];

/** No more replies are listed. Typing narrows the list down. */
const MAX_SHOWN = 20;

/** The word that begins with a slash before the caret: its place, and what follows the slash. */
interface Command {
  start: number;
  end: number;
  q: string;
}

function commandAt({ value, selectionStart, selectionEnd }: HTMLTextAreaElement): Command | undefined {
  const [, q] = /(?:^|\s)\/([^\s/]{0,40})$/.exec(value.slice(0, selectionStart)) ?? [];
  if (q === undefined || selectionStart !== selectionEnd) return undefined;
  return { start: selectionStart - q.length - 1, end: selectionStart, q };
}

interface Props {
  field: RefObject<HTMLTextAreaElement | null>;
  conversation: Schemas["Conversation"];
  text: string;
  write: (text: string) => void;
}

/**
 * The list of saved replies that `/` opens in a text field. A reply is inserted with the values of its variables; the first variable
 * without one is selected.
 */
export function SavedReplies({ field, conversation, text, write }: Props) {
  const [command, setCommand] = useState<Command>();
  const [at, setAt] = useState(0);
  const [closedAt, setClosedAt] = useState<number>();
  const id = useId();
  const isWanted = command !== undefined && command.start !== closedAt;
  const { data: all } = useQuery(`${isWanted}`, async (signal) => (isWanted ? readUsable(conversation, signal) : undefined));
  const found = isWanted && all ? matching(all, command.q) : [];
  const current = found[Math.min(at, found.length - 1)];
  const values = useValues(conversation);
  // The inserted text is in the field only after that was rendered again.
  const caret = useRef<number>(undefined);
  useEffect(() => {
    if (caret.current === undefined) return;
    if (!selectGap(field.current)) field.current?.setSelectionRange(caret.current, caret.current);
    caret.current = undefined;
  }, [text]);
  const insert = (reply: SavedReply) => {
    if (!command) return;
    const filled = fillVariables(reply.content, values);
    caret.current = command.start + filled.length;
    write(text.slice(0, command.start) + filled + text.slice(command.end));
    setCommand(undefined);
  };
  const readCommand = () => {
    const next = field.current && document.activeElement === field.current ? commandAt(field.current) : undefined;
    if (next?.start !== command?.start) setClosedAt(undefined);
    if (next?.q === command?.q && next?.start === command?.start) return;
    setCommand(next);
    setAt(0);
  };
  // The user may have written before this was loaded.
  useEffect(readCommand, []);
  useListeners(field, {
    // The keys of the open list come before those of the field.
    keydown: (event) => {
      if (!current || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
      const place = found.indexOf(current);
      if (event.key === "ArrowDown") setAt((place + 1) % found.length);
      else if (event.key === "ArrowUp") setAt((place + found.length - 1) % found.length);
      else if (event.key === "Enter" || event.key === "Tab") insert(current);
      else if (event.key === "Escape") setClosedAt(command!.start);
      else return;
      event.preventDefault();
      event.stopPropagation();
    },
    input: readCommand,
    selectionchange: readCommand,
    blur: () => setCommand(undefined),
  });
  const optionId = (reply: SavedReply) => `${id}-${reply.id}`;
  useEffect(() => {
    if (!current) return undefined;
    const attributes = { "aria-autocomplete": "list", "aria-controls": id, "aria-activedescendant": optionId(current) };
    for (const [name, value] of Object.entries(attributes)) field.current?.setAttribute(name, value);
    return () => Object.keys(attributes).forEach((name) => field.current?.removeAttribute(name));
  }, [current]);
  if (!isWanted || !all) return null;
  return (
    <>
      {current && (
        <ul class="saved-replies" id={id} role="listbox" aria-label="Saved replies">
          {found.map((reply) => (
            <Option key={reply.id} id={optionId(reply)} reply={reply} isCurrent={reply === current} onChoose={() => insert(reply)} />
          ))}
        </ul>
      )}
      <p class={all.length === 0 && command.q === "" ? "hint" : "sr-only"} role="status">
        {statusOf(all.length, found.length)}
      </p>
    </>
  );
}

interface Listeners {
  keydown: (event: KeyboardEvent) => void;
  input: () => void;
  selectionchange: () => void;
  blur: () => void;
}

/** Listens for events of a text field, before its own listeners do. */
function useListeners(field: Props["field"], listeners: Listeners): void {
  const latest = useRef(listeners);
  latest.current = listeners;
  useEffect(() => {
    const controller = new AbortController();
    const options = { capture: true, signal: controller.signal };
    field.current?.addEventListener("keydown", (event) => latest.current.keydown(event), options);
    // Several changes at once send one event of the selection.
    field.current?.addEventListener("input", () => latest.current.input(), options);
    field.current?.addEventListener("blur", () => latest.current.blur(), options);
    // Browsers send this event to the field, or to the document.
    document.addEventListener("selectionchange", () => latest.current.selectionchange(), options);
    return () => controller.abort();
  }, []);
}

/** Reads all saved replies, by name. */
export async function readSavedReplies(signal: AbortSignal): Promise<SavedReply[]> {
  const { data } = await api.listSavedReplies({}, { signal });
  return data.toSorted((one, other) => one.name.localeCompare(other.name));
}

/** Reads the replies of everybody, of the conversation's team and of the user's own teams. */
async function readUsable({ team_id: teamId }: Schemas["Conversation"], signal: AbortSignal): Promise<SavedReply[]> {
  const replies = await readSavedReplies(signal);
  if (replies.every((reply) => reply.team_id === null)) return replies;
  const { data: teams } = await api.listTeams({}, { signal });
  const own = teams.filter(({ id, member_ids }) => id === teamId || member_ids.includes(me().id));
  return replies.filter((reply) => reply.team_id === null || own.some(({ id }) => id === reply.team_id));
}

function statusOf(all: number, found: number): string {
  if (all === 0) return "There are no saved replies yet. Settings has a page for them.";
  if (found === 0) return "No saved reply matches";
  return `${found === 1 ? "1 saved reply" : `${found} saved replies`}. Enter inserts`;
}

interface OptionProps {
  id: string;
  reply: SavedReply;
  isCurrent: boolean;
  onChoose: () => void;
}

function Option({ id, reply, isCurrent, onChoose }: OptionProps) {
  const element = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isCurrent) element.current?.scrollIntoView({ block: "nearest" });
  }, [isCurrent]);
  return (
    <li
      ref={element}
      id={id}
      role="option"
      aria-selected={isCurrent}
      // The field keeps the focus.
      onMouseDown={(event) => event.preventDefault()}
      onClick={onChoose}
    >
      <strong>{reply.name}</strong>
      <span class="quiet">{reply.content}</span>
    </li>
  );
}

/** The replies whose name or text has a word that begins with `q`; those by name come first. */
function matching(replies: readonly SavedReply[], q: string): SavedReply[] {
  const wanted = q.toLocaleLowerCase();
  const has = (text: string) =>
    text
      .toLocaleLowerCase()
      .split(/[^\p{L}\p{N}]+/u)
      .some((word) => word.startsWith(wanted));
  const byName = replies.filter(({ name }) => has(name));
  return [...byName, ...replies.filter((reply) => !byName.includes(reply) && has(reply.content))].slice(0, MAX_SHOWN);
}

function selectGap(field: HTMLTextAreaElement | null): boolean {
  const gap = field && findGap(field.value);
  if (!gap) return false;
  field.setSelectionRange(gap.start, gap.end);
  return true;
}

/** The values of the variables in a conversation. */
function useValues({ visitor, agent_id: agentId }: Schemas["Conversation"]) {
  const { data: agents = [] } = useAgents();
  return {
    "visitor.name": visitor?.name,
    "visitor.email": visitor?.email,
    "agent.name": agents.find(({ id }) => id === agentId)?.name,
    "member.name": me().name,
    "workspace.name": session.value?.kind === "workspace" ? session.value.workspace.name : "",
  };
}
