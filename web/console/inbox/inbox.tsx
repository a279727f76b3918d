import { useEffect, useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import { useShortcuts } from "../keyboard.ts";
import { showPresence } from "../live.ts";
import { focusSearch } from "../ui/page.tsx";
import { Empty } from "../ui/states.tsx";
import { ConversationView } from "./conversation.tsx";
import { forgetOldDrafts } from "./drafts.ts";
import { ConversationList, type Filter, type ListedConversation, useConversations } from "./list.tsx";

/** Where the team answers: the list, the open conversation, and what is known of it. */
export function Inbox() {
  const [path, navigate] = useLocation();
  const openId = path.split("/")[1] || undefined;
  const [filter, setFilter] = useState<Filter>({ view: "waiting" });
  const list = useConversations(filter);
  useEffect(forgetOldDrafts, []);
  useEffect(() => showPresence(openId ?? null, false), [openId]);
  useEffect(() => () => showPresence(null, false), []);
  const open = (id: string | undefined) => navigate(id === undefined ? "/" : `/${id}`);
  const moveBy = (step: number) => {
    const next = neighbour(list.items, openId, step);
    if (next) open(next.id);
  };
  useShortcuts({
    j: ["Next conversation", () => moveBy(1)],
    k: ["Previous conversation", () => moveBy(-1)],
    "/": ["Search", focusSearch],
    Escape: ["Back to the list", () => open(undefined)],
  });
  return (
    <div class={openId === undefined ? "inbox" : "inbox is-open"}>
      <ConversationList list={list} filter={filter} onFilter={setFilter} openId={openId} onOpen={open} />
      {openId === undefined ? (
        <section class="conversation-empty">
          <Empty title="No conversation is open">
            Choose one from the list, or press <kbd>j</kbd>. <kbd>?</kbd> lists all keys.
          </Empty>
        </section>
      ) : (
        <ConversationView key={openId} id={openId} onClose={() => open(undefined)} onDone={() => moveBy(1)} />
      )}
    </div>
  );
}

function neighbour(conversations: readonly ListedConversation[], id: string | undefined, step: number): ListedConversation | undefined {
  const at = conversations.findIndex((conversation) => conversation.id === id);
  return at < 0 ? conversations[0] : conversations[at + step];
}
