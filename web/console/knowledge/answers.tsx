import { useState } from "preact/hooks";
import { api, type Schemas } from "../api.ts";
import { usePages } from "../lists.ts";
import { SaveAnswer } from "../playground/save-answer.tsx";
import { hasScope } from "../session.ts";
import { Button, RecordButtons } from "../ui/button.tsx";
import { DeleteDialog } from "../ui/dialog.tsx";
import { PagesCards } from "../ui/pages.tsx";
import { Empty } from "../ui/states.tsx";
import { attempt } from "../ui/toast.tsx";

/** The curated answers of an agent, which it gives word for word. */
export function Answers({ agentId }: { agentId: string }) {
  const [isAdding, setAdding] = useState(false);
  const [editing, setEditing] = useState<Schemas["Answer"]>();
  const [deleting, setDeleting] = useState<Schemas["Answer"]>();
  const pages = usePages(agentId, (page, options) => api.listAnswers({ agent_id: agentId, ...page }, options));
  const mayWrite = hasScope("knowledge:write");
  const remove = async (id: string) => {
    if (await attempt(() => api.deleteAnswer({ agent_id: agentId, answer_id: id }), "Deleted")) pages.first.reload();
    setDeleting(undefined);
  };
  return (
    <section class="stack" aria-label="Curated answers">
      {mayWrite && (
        <div class="actions">
          <Button variant="primary" onClick={() => setAdding(true)}>
            Add answer
          </Button>
        </div>
      )}
      <PagesCards
        pages={pages}
        card={(answer) => (
          <>
            <div class="card-top">
              <strong>{answer.question}</strong>
              {mayWrite && (
                <div class="actions">
                  <RecordButtons name={answer.question} onEdit={() => setEditing(answer)} onDelete={() => setDeleting(answer)} />
                </div>
              )}
            </div>
            <p class="plain clamp-5">{answer.answer}</p>
          </>
        )}
        empty={<Empty title="No curated answers yet">Write the answer to a frequent question. Similar questions get it too.</Empty>}
      />
      {isAdding && <SaveAnswer agentId={agentId} question="" answer="" onClose={() => setAdding(false)} onSaved={pages.first.reload} />}
      {editing && (
        <SaveAnswer
          agentId={agentId}
          question={editing.question}
          answer={editing.answer}
          save={(body) => api.updateAnswer({ agent_id: agentId, answer_id: editing.id, body })}
          onClose={() => setEditing(undefined)}
          onSaved={pages.first.reload}
        />
      )}
      {deleting && (
        <DeleteDialog title="Delete this answer" onClose={() => setDeleting(undefined)} onDelete={() => remove(deleting.id)}>
          <p>“{deleting.question}” is answered from the other knowledge again.</p>
        </DeleteDialog>
      )}
    </section>
  );
}
