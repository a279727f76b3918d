import { useState } from "preact/hooks";
import { api, type Schemas } from "../api.ts";
import { usePages } from "../lists.ts";
import { SaveAnswer } from "../playground/save-answer.tsx";
import { hasScope } from "../session.ts";
import { Button } from "../ui/button.tsx";
import { PagesCards } from "../ui/pages.tsx";
import { Empty } from "../ui/states.tsx";
import { formatNumber, Time } from "../ui/format.tsx";
import { attempt } from "../ui/toast.tsx";
import { ConversationLink, conversationLinkText } from "./gaps.tsx";

type Draft = Schemas["Draft"];

/** Replies of colleagues to questions that the agent could not answer. The team accepts them as curated answers, or dismisses them. */
export function Drafts({ agentId }: { agentId: string }) {
  const [editing, setEditing] = useState<Draft>();
  const [busyId, setBusyId] = useState<string>();
  const pages = usePages(agentId, (page, options) => api.listDrafts({ agent_id: agentId, ...page }, options));
  const decide = async ({ id }: Draft, action: "accept" | "dismiss") => {
    const ids = { agent_id: agentId, draft_id: id };
    setBusyId(id);
    const isDone = await (action === "accept"
      ? attempt(() => api.acceptDraft(ids), "The agent knows this answer now")
      : attempt(() => api.dismissDraft(ids), "Dismissed"));
    if (isDone) pages.first.reload();
    setBusyId(undefined);
  };
  return (
    <section class="stack" aria-label="Drafts">
      <p class="quiet">
        Replies of colleagues to questions that the agent could not answer. The agent gives the replies that you accept to everybody, word
        for word: remove what concerns one person only.
      </p>
      <PagesCards
        pages={pages}
        card={(draft) => (
          <DraftCard
            draft={draft}
            isBusy={busyId === draft.id}
            onAccept={() => void decide(draft, "accept")}
            onEdit={() => setEditing(draft)}
            onDismiss={() => void decide(draft, "dismiss")}
          />
        )}
        empty={<Empty title="No drafts">A reply to a question that the agent could not answer appears here.</Empty>}
      />
      {editing && (
        <SaveAnswer
          agentId={agentId}
          question={editing.question}
          answer={editing.answer}
          save={(body) => api.acceptDraft({ agent_id: agentId, draft_id: editing.id, body })}
          onClose={() => setEditing(undefined)}
          onSaved={pages.first.reload}
        />
      )}
    </section>
  );
}

interface CardProps {
  draft: Draft;
  isBusy: boolean;
  onAccept: () => void;
  onEdit: () => void;
  onDismiss: () => void;
}

function DraftCard({ draft, isBusy, onAccept, onEdit, onDismiss }: CardProps) {
  return (
    <>
      <strong>{draft.question}</strong>
      <p class="plain">{draft.answer}</p>
      <p class="quiet">
        {draft.count === 1 ? "One reply" : `${formatNumber(draft.count)} replies that say the same`}
        {" · "}
        <Time at={draft.updated_at} />
      </p>
      <ul class="examples">
        {draft.conversations.map(({ conversation_id: id, question }) => (
          <li key={id}>
            <ConversationLink id={id} text={conversationLinkText(question, draft.question)} />
          </li>
        ))}
      </ul>
      {hasScope("knowledge:write") && (
        <div class="actions">
          <Button variant="quiet" disabled={isBusy} onClick={onDismiss}>
            Dismiss
          </Button>
          <Button disabled={isBusy} onClick={onEdit}>
            Edit
          </Button>
          <Button variant="primary" isBusy={isBusy} onClick={onAccept}>
            Accept
          </Button>
        </div>
      )}
    </>
  );
}
