import { send } from "../load.ts";
import { BUSY_VISITOR, conversationAt, emailOf, leadAt, leadCount, type WorkspaceHistory } from "./history.ts";

const DAY_MS = 86_400_000;
/** How deep in the list the pages are; in the middle of a list that is shorter. */
const DEPTHS = [10_000, 100_000];
const PAGE = 20;

/** Returns the requests that are measured, for a workspace of any size, in the order of the table. */
export async function requestsTo(port: number, history: WorkspaceHistory, headers: Record<string, string>) {
  const get = (label: string, path: string) => ({ label, request: { method: "GET", path: `/api/v1${path}`, headers } });
  const agent = `agent_id=${history.agentIds[0]!}`;
  const since = (days: number) => new Date(history.nowMs - days * DAY_MS).toISOString();
  const conversations = (label: string, query: string) => get(`conversations${label && `, ${label}`}`, `/conversations?${query}`);
  const leads = (label: string, query: string) => get(`leads${label && `, ${label}`}`, `/leads?${query}`);
  const rare = leadAt(history, Math.floor(leadCount(history) / 2) + 1);
  const pages: ReturnType<typeof get>[] = [];
  for (const depth of DEPTHS) {
    const offset = Math.min(depth, history.conversations / 2);
    pages.push(conversations(`offset ${depth.toLocaleString("en")}`, `offset=${offset}`));
    const before = get("", `/conversations?limit=${PAGE}&offset=${offset - PAGE}`);
    const { next_cursor: cursor } = await send<{ next_cursor: string }>(port, before.request);
    pages.push(conversations(`cursor at ${depth.toLocaleString("en")}`, `cursor=${cursor}`));
  }
  return [
    conversations("", ""),
    conversations("a page of 100", "limit=100"),
    conversations("agent_id", agent),
    conversations("status", "status=needs_human"),
    conversations("channel", "channel=email"),
    conversations("agent_id, status", `${agent}&status=resolved`),
    conversations("agent_id, status, channel", `${agent}&status=resolved&channel=api`),
    conversations("updated_since a day ago", `updated_since=${since(1)}`),
    conversations("updated_since 30 days ago", `updated_since=${since(30)}`),
    conversations("updated_since 300 days ago", `updated_since=${since(300)}`),
    conversations("all four filters, 30 days", `${agent}&status=resolved&channel=api&updated_since=${since(30)}`),
    ...pages,
    get("one conversation", `/conversations/${conversationAt(history, Math.floor(history.conversations / 2)).id}`),
    leads("", ""),
    leads("agent_id", agent),
    leads("created_since 30 days ago", `created_since=${since(30)}`),
    leads("created_since 300 days ago", `created_since=${since(300)}`),
    leads("q rare", `q=${rare.email}`),
    leads("q common", "q=acme"),
    leads("q common, agent_id", `q=acme&${agent}`),
    leads("q in all", "q=example.com"),
    leads("q of a phone's digits", `q=${rare.phone.replaceAll(/\D/g, "").slice(-7)}`),
    leads("q of two letters", "q=an"),
    leads("q of one letter", "q=e"),
    get("analytics, 1 day", "/analytics/overview?days=1"),
    get("analytics, 30 days", "/analytics/overview?days=30"),
    get("analytics, 365 days", "/analytics/overview?days=365"),
    get("analytics, 365 days of an agent", `/analytics/overview?days=365&${agent}`),
    get("usage", "/usage"),
    get("privacy find, external_id", "/privacy/visitors?external_id=u-1"),
    get("privacy find, email", `/privacy/visitors?email=${emailOf(1)}`),
    get("privacy find, 100 conversations", `/privacy/visitors?email=${emailOf(BUSY_VISITOR)}`),
  ];
}
