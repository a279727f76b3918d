import { useEffect, useRef, useState } from "preact/hooks";
import { api, type Schemas } from "../api.ts";
import { type ListWindow, useListWindow } from "../lists.ts";
import { reloadConversations } from "../live.ts";
import { useQuery } from "../query.ts";
import { useAgents } from "../agents.tsx";
import { PRIORITIES, type Team, useTeams } from "../teams.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Select } from "../ui/field.tsx";
import { useModule } from "../ui/lazy.tsx";
import { me } from "../session.ts";
import { type CurrentRow, LongList } from "../ui/long-list.tsx";
import { SearchField } from "../ui/page.tsx";
import { Empty, Loaded } from "../ui/states.tsx";
import { formatNumber, Snippet, Time } from "../ui/format.tsx";
import { waiting } from "../waiting.ts";
import { hasDraft } from "./drafts.ts";
import type { OfferUndo } from "./inbox.tsx";
import { SelectBox, SelectButton, type Selection, SelectionBar } from "./selection.tsx";
import { CHANNEL_WORDS, Status, titleOf } from "./words.tsx";

export type ListedConversation = Schemas["ConversationPage"]["data"][number];

const VIEWS = [
  { id: "waiting", text: "Waiting", input: { status: "needs_human", order: "oldest", snoozed: "false" } },
  { id: "team", text: "With the team", input: { status: "human_active", snoozed: "false" } },
  { id: "mine", text: "Mine", input: { with_team: "true", snoozed: "false" } },
  { id: "unassigned", text: "Unassigned", input: { unassigned: "true", snoozed: "false", order: "oldest" } },
  { id: "unread", text: "Unread", input: { unread: "true", snoozed: "false" } },
  { id: "snoozed", text: "Snoozed", input: { snoozed: "true" } },
  { id: "agent", text: "Agent", input: { status: "ai_handled" } },
  { id: "resolved", text: "Resolved", input: { status: "resolved" } },
  { id: "all", text: "All", input: {} },
] as const;

export interface Filter {
  view: (typeof VIEWS)[number]["id"];
  q?: string | undefined;
  /** The id of a team. */
  team?: string | undefined;
}

/** Reads a filter from the query of an address; undefined if there is none. */
export function readFilter(query: string): Filter | undefined {
  const parameters = new URLSearchParams(query);
  const view = VIEWS.find(({ id }) => id === parameters.get("view"))?.id;
  const [q, team] = [parameters.get("q") ?? undefined, parameters.get("team") ?? undefined];
  return view === undefined && q === undefined && team === undefined ? undefined : { view: view ?? "waiting", q, team };
}

/** The height of a row with two lines of preview, in pixels. */
const ROW_HEIGHT = 108;

function inputOf({ view, q, team }: Filter): Parameters<typeof api.listConversations>[0] {
  const { input } = VIEWS.find(({ id }) => id === view)!;
  // A search has its newest activity first, and finds snoozed conversations, assigned ones and those of all teams too.
  const searched = { q: q!, order: "newest" as const, snoozed: undefined, with_team: undefined, unassigned: undefined, team_id: undefined };
  return { ...input, ...(view === "mine" && { assignee_id: me().id }), ...(team && { team_id: team }), ...(q && searched) };
}

export function useConversations(filter: Filter): ListWindow<ListedConversation> {
  return useListWindow(
    JSON.stringify(filter),
    async (place, options) => {
      const page = await api.listConversations({ ...inputOf(filter), ...place }, options);
      const isWhole = page.total <= page.data.length;
      // The API orders by activity, and a visitor who asks again has waited since the hand-off.
      if (filter.view === "waiting" && !filter.q && isWhole) page.data.sort((one, other) => (waitsSince(one) < waitsSince(other) ? -1 : 1));
      return page;
    },
    ({ kind }) => kind === "conversation",
  );
}

/** Since when a conversation waits for the team, or else its latest activity. */
function waitsSince({ status, handoff, last_message_at: at }: ListedConversation): string {
  return (status === "needs_human" && handoff?.requested_at) || at;
}

interface Props {
  list: ListWindow<ListedConversation>;
  filter: Filter;
  onFilter: (filter: Filter) => void;
  openId: string | undefined;
  /** The row that is scrolled into view. */
  current: CurrentRow;
  onOpen: (id: string) => void;
  selection: Selection;
  offerUndo: OfferUndo;
}

export function ConversationList({ list, filter, onFilter, openId, current, onOpen, selection, offerUndo }: Props) {
  const section = useRef<HTMLElement>(null);
  const toHits = useFocusOnHits(section, list);
  const { data: teams = [] } = useTeams();
  const { data: agents = [] } = useAgents();
  const matching = useCount({ view: "all", q: filter.q }, Boolean(filter.q) && filter.view !== "all");
  const elsewhere = matching === undefined || !list.query.data ? 0 : matching - list.query.data.total;
  return (
    <section class="conversation-list" aria-label="Conversations" ref={section}>
      <header>
        <div class="card-top">
          <h1>Inbox</h1>
          <div class="actions">
            <SelectButton selection={selection} />
            <AlertsButton />
          </div>
        </div>
        <SearchField label="Search conversations" q={filter.q} onSearch={(q) => onFilter({ ...filter, q })} toHits={toHits} />
        <Views filter={filter} onFilter={onFilter} />
        {!filter.q && <TeamFilter teams={teams} filter={filter} onFilter={onFilter} />}
        {elsewhere > 0 && (
          <p class="quiet">
            {formatNumber(elsewhere)} more {elsewhere === 1 ? "matches" : "match"} in other views.{" "}
            <Button variant="quiet" onClick={() => onFilter({ ...filter, view: "all" })}>
              Show all {formatNumber(matching!)}
            </Button>
          </p>
        )}
        <SelectionBar selection={selection} offerUndo={offerUndo} />
      </header>
      <LongList
        key={list.key}
        list={list}
        rowHeight={ROW_HEIGHT}
        current={current}
        row={(conversation) => (
          <>
            <SelectBox conversation={conversation} selection={selection} />
            <Row {...{ conversation, teams, agents, onOpen }} isOpen={conversation.id === openId} />
          </>
        )}
      >
        <Loaded query={list.query} rows={10}>
          {({ total }) => total === 0 && <EmptyList filter={filter} />}
        </Loaded>
      </LongList>
    </section>
  );
}

/** Returns a function that moves the focus to the first row, once the list is loaded. */
function useFocusOnHits(section: { current: HTMLElement | null }, list: ListWindow<ListedConversation>): () => void {
  const [isWanted, setWanted] = useState(false);
  const isLoaded = list.length !== undefined;
  useEffect(() => {
    if (!isWanted || !isLoaded) return;
    setWanted(false);
    section.current?.querySelector<HTMLElement>(".row")?.focus();
  }, [isWanted, isLoaded, list.key]);
  return () => setWanted(true);
}

function Views({ filter, onFilter }: Pick<Props, "filter" | "onFilter">) {
  const unread = useCount({ view: "unread" });
  const snoozed = useCount({ view: "snoozed" });
  useEffect(() => {
    // The service pushes no change when a snooze ends.
    const timer = snoozed ? setInterval(reloadConversations, 60_000) : undefined;
    return () => clearInterval(timer);
  }, [snoozed]);
  const counts: Partial<Record<Filter["view"], number>> = {
    ...(waiting.value && { waiting: waiting.value }),
    ...(unread && { unread }),
    ...(snoozed && { snoozed }),
  };
  return (
    <div class="chips" role="group" aria-label="Show">
      {VIEWS.map(({ id, text }) => (
        <button key={id} type="button" class="chip" aria-pressed={filter.view === id} onClick={() => onFilter({ ...filter, view: id })}>
          {text}
          {counts[id] !== undefined && <span class="count">{formatNumber(counts[id])}</span>}
        </button>
      ))}
    </div>
  );
}

/** Selects the team whose conversations are listed, if the workspace has teams. */
function TeamFilter({ teams, filter, onFilter }: Pick<Props, "filter" | "onFilter"> & { teams: readonly Team[] }) {
  if (teams.length === 0) return null;
  return (
    <Select
      label="Team"
      hideLabel
      options={[["", "All teams"], ...teams.map(({ id, name }) => [id, name] as const)]}
      value={filter.team ?? ""}
      onChoose={(team) => onFilter({ ...filter, team: team || undefined })}
    />
  );
}

/** Counts the conversations that match a filter, if they are wanted. */
export function useCount(filter: Filter, isWanted = true): number | undefined {
  const read = async (signal: AbortSignal) =>
    isWanted ? (await api.listConversations({ ...inputOf(filter), limit: 1 }, { signal })).total : undefined;
  return useQuery(JSON.stringify(filter), read, ({ kind }) => isWanted && kind === "conversation").data;
}

interface RowProps extends Pick<Props, "onOpen"> {
  conversation: ListedConversation;
  teams: readonly Team[];
  agents: readonly Schemas["Agent"][];
  isOpen: boolean;
}

function Row({ conversation, teams, agents, isOpen, onOpen }: RowProps) {
  const { id, unread_count: unread, channel, agent_id: agentId, assignee, match, priority, team_id: teamId } = conversation;
  const owner = assignee?.name ?? teams.find((team) => team.id === teamId)?.name;
  const agent = agents.length > 1 ? agents.find((one) => one.id === agentId)?.name : undefined;
  return (
    <button type="button" class={unread > 0 ? "row is-unread" : "row"} aria-current={isOpen} onClick={() => onOpen(id)}>
      <span class="row-top">
        <strong>{titleOf(conversation)}</strong>
        <Time at={waitsSince(conversation)} />
      </span>
      <span class="preview">
        {match ? <Snippet parts={match.snippet} /> : hasDraft(id) ? <em>Draft: not sent yet</em> : previewOf(conversation)}
      </span>
      <span class="row-bottom">
        <Status status={conversation.status} />
        <span class="quiet origin">{[CHANNEL_WORDS[channel], agent].filter(Boolean).join(" · ")}</span>
        {priority !== "normal" && <span class={`tag priority ${priority}`}>{PRIORITIES.find(([value]) => value === priority)![1]}</span>}
        {owner && <span class="tag">{owner}</span>}
        {unread > 0 && (
          <span class="count" aria-label={`${unread} unread`}>
            {unread}
          </span>
        )}
      </span>
    </button>
  );
}

const WRITERS: Partial<Record<NonNullable<ListedConversation["last_message_role"]>, string>> = { assistant: "Agent: ", human: "Team: " };

/** The last message of a visitor who is waiting; otherwise the last message, with its author unless that is the visitor. */
function previewOf({ question_preview: question, last_message_role: role, last_message_preview: preview }: ListedConversation) {
  return question ?? `${(role && WRITERS[role]) ?? ""}${preview ?? ""}`;
}

function EmptyList({ filter }: { filter: Filter }) {
  if (filter.q && filter.view !== "all") return <Empty title="Nothing was found">No conversation of this view has these words.</Empty>;
  if (filter.q) return <Empty title="Nothing was found">No conversation has these words. Search for fewer or other ones.</Empty>;
  if (filter.view === "waiting")
    return <Empty title="Nobody is waiting">Conversations that need a human appear here as they come in.</Empty>;
  return <Empty title="No conversations here">They appear as soon as there are some.</Empty>;
}

/** A button for the settings of this browser, whose dialog is loaded when it is wanted. */
function AlertsButton() {
  const [isOpen, setOpen] = useState(false);
  const module = useModule(() => import("./alerts.tsx"), isOpen);
  return (
    <>
      <IconButton icon="bell" label="Alerts" onClick={() => setOpen(true)} />
      {isOpen && module && <module.AlertsDialog onClose={() => setOpen(false)} />}
    </>
  );
}
