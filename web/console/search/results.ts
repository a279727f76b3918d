import { api, errorText, type Schemas } from "../api.ts";
import { WORKSPACE_PAGES } from "../routes.ts";
import { hasScope } from "../session.ts";
import { settingsTabs } from "../settings/tabs.ts";
import { STATUS_WORDS, titleOf } from "../inbox/words.tsx";

/** A part of a text, and whether it matches. */
type Part = Schemas["ConversationMatch"]["snippet"][number];

export interface Result {
  id: string;
  title: string;
  detail: readonly Part[];
  /** The page of the console that it opens. */
  href: string;
  /** The agent whose knowledge it is. */
  agentId?: string;
  /** What the list of leads is searched for. */
  leadQuery?: string;
}

export interface Group {
  title: string;
  results: readonly Result[];
  /** Why the group could not be read. */
  problem?: string | undefined;
}

const MAX_RESULTS = 5;
/** How many agents' knowledge is searched, each by one request. */
const MAX_AGENTS = 3;

/** Finds pages of the console by the beginnings of their words; all pages without words. */
export function findPages(q: string): Group {
  const wanted = q.toLocaleLowerCase();
  const pages = WORKSPACE_PAGES.filter(({ scope }) => scope === undefined || hasScope(scope)).map(({ path, title }) => ({ path, title }));
  const settings = pages.some(({ path }) => path === "/settings")
    ? settingsTabs().map(([href, title]) => ({ path: `/settings${href === "/" ? "" : href}`, title: `Settings › ${title}` }))
    : [];
  const all = wanted === "" ? pages : [...pages, ...settings.filter(({ path }) => path !== "/settings")];
  const found = all.filter(({ title }) => ` ${title.toLocaleLowerCase()}`.includes(` ${wanted}`));
  return { title: "Pages", results: found.map(({ path, title }) => ({ id: path, title, detail: [], href: path })) };
}

/** Finds conversations, people and knowledge, as far as the user may read them. */
export async function findRecords(q: string, agents: readonly Schemas["Agent"][], signal: AbortSignal): Promise<Group[]> {
  const [conversations, leads, knowledge] = await Promise.all([
    hasScope("conversations:read") ? tried(api.listConversations({ q, limit: MAX_RESULTS }, { signal })) : undefined,
    hasScope("leads:read") ? tried(api.listLeads({ q, limit: MAX_RESULTS }, { signal })) : undefined,
    hasScope("knowledge:read") ? tried(findPassages(q, agents.slice(0, MAX_AGENTS), signal)) : undefined,
  ]);
  const hits = conversations?.found?.data ?? [];
  const groups: (Group | undefined)[] = [
    conversations && { title: "Conversations", results: hits.map(toConversation), problem: problemOf(conversations) },
    (conversations ?? leads) && { title: "People", results: peopleOf(leads?.found?.data ?? [], hits), problem: problemOf(leads) },
    knowledge && { title: "Knowledge", results: knowledge.found ?? [], problem: problemOf(knowledge) },
  ];
  return groups.filter((group) => group !== undefined);
}

interface Tried<Found> {
  found?: Found;
  error?: unknown;
}

/** A group that fails does not take the others with it. */
async function tried<Found>(reading: Promise<Found>): Promise<Tried<Found>> {
  return reading.then(
    (found) => ({ found }),
    (error: unknown) => ({ error }),
  );
}

function problemOf(group: Tried<unknown> | undefined): string | undefined {
  return group?.error === undefined ? undefined : errorText(group.error);
}

const plain = (text: string): Part[] => (text === "" ? [] : [{ text, is_match: false }]);

type Listed = Schemas["ConversationPage"]["data"][number];

function toConversation(conversation: Listed): Result {
  const { id, status, match, last_message_preview: preview } = conversation;
  return {
    id: `conversation ${id}`,
    title: `${titleOf(conversation)} · ${STATUS_WORDS[status]}`,
    detail: match?.snippet ?? plain(preview ?? ""),
    href: `/inbox/${id}`,
  };
}

/** The people who left their contact details, and visitors who were found by their names and addresses; each person once. */
function peopleOf(leads: readonly Schemas["Lead"][], conversations: readonly Listed[]): Result[] {
  const people = new Map<string, Result>();
  for (const { id, visitor_id: visitorId, name, email, phone, conversation_id: conversationId } of leads) {
    const [title = "Contact details", ...others] = [name, email, phone].filter((text) => text !== null && text !== "") as string[];
    const target = conversationId ? { href: `/inbox/${conversationId}` } : { href: "/leads", leadQuery: title };
    const key = visitorId ?? id;
    if (!people.has(key)) people.set(key, { id: `person ${key}`, title, detail: plain(others.join(" · ")), ...target });
  }
  for (const { id, visitor, match } of conversations) {
    const [title, ...others] = [visitor?.name, visitor?.email].filter(Boolean) as string[];
    // Without a message, the match is in the subject or the visitor.
    if (!visitor || title === undefined || match?.message_id !== null || people.has(visitor.id)) continue;
    if (!match.snippet.some(({ text, is_match: isMatch }) => isMatch && [title, ...others].some((one) => one.includes(text)))) continue;
    people.set(visitor.id, { id: `person ${visitor.id}`, title, detail: plain(others.join(" · ")), href: `/inbox/${id}` });
  }
  return [...people.values()].slice(0, MAX_RESULTS);
}

async function findPassages(q: string, agents: readonly Schemas["Agent"][], signal: AbortSignal): Promise<Result[]> {
  const pages = await Promise.all(
    agents.map(async ({ id, name }) => {
      const { data } = await api.searchKnowledge({ agent_id: id, body: { query: q, limit: MAX_RESULTS } }, { signal });
      return data.map((hit) => ({ ...hit, agentId: id, agent: agents.length > 1 ? `${name}: ` : "" }));
    }),
  );
  const found = pages.flat().toSorted((one, other) => other.score - one.score);
  return found.slice(0, MAX_RESULTS).map(({ agentId, agent, title, content, type, source_id: sourceId }, at) => ({
    id: `knowledge ${at}`,
    title,
    detail: plain(`${agent}${content.slice(0, 200)}`),
    href: type === "answer" ? "/knowledge/answers" : `/knowledge/agents/${agentId}/sources/${sourceId}`,
    agentId,
  }));
}
