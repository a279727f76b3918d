import { useState } from "preact/hooks";
import { REPLY_VARIABLES } from "../../../src/conversations/reply-variables.ts";
import { api, type Schemas } from "../api.ts";
import { readSavedReplies } from "../inbox/saved-replies.tsx";
import { useQuery } from "../query.ts";
import { hasScope } from "../session.ts";
import { type Team, useTeams } from "../teams.ts";
import { Button, RecordButtons } from "../ui/button.tsx";
import { DeleteDialog, Dialog } from "../ui/dialog.tsx";
import { FormEnd, Select, TextArea, TextField } from "../ui/field.tsx";
import { useForm } from "../ui/form.ts";
import { Empty, Loaded, NeedsScope } from "../ui/states.tsx";
import { attempt } from "../ui/toast.tsx";

type SavedReply = Schemas["SavedReply"];

/** The team's texts for frequent replies. */
export function SavedReplies() {
  return (
    <NeedsScope scope="conversations:read">
      <List />
    </NeedsScope>
  );
}

function List() {
  const query = useQuery("saved-replies", readSavedReplies);
  const { data: teams = [] } = useTeams();
  const [editing, setEditing] = useState<SavedReply | "new">();
  const [deleting, setDeleting] = useState<SavedReply>();
  const mayWrite = hasScope("conversations:write");
  const remove = async (saved_reply_id: string) => {
    if (await attempt(() => api.deleteSavedReply({ saved_reply_id }), "Deleted")) query.reload();
    setDeleting(undefined);
  };
  const add = mayWrite && (
    <Button variant="primary" onClick={() => setEditing("new")}>
      Add saved reply
    </Button>
  );
  return (
    <section class="stack" aria-label="Saved replies">
      <Loaded query={query}>
        {(replies) =>
          replies.length === 0 ? (
            <Empty title="No saved replies yet" action={add}>
              Write a frequent reply once. In the inbox, <kbd>/</kbd> inserts it.
            </Empty>
          ) : (
            <>
              <div class="actions">{add}</div>
              <ul class="stack">
                {replies.map((reply) => (
                  <li key={reply.id} class="card">
                    <div class="card-top">
                      <div class="tags">
                        <strong>{reply.name}</strong>
                        {reply.team_id && <span class="tag">{teams.find(({ id }) => id === reply.team_id)?.name}</span>}
                      </div>
                      {mayWrite && (
                        <div class="actions">
                          <RecordButtons name={reply.name} onEdit={() => setEditing(reply)} onDelete={() => setDeleting(reply)} />
                        </div>
                      )}
                    </div>
                    <p class="plain clamp-5">{reply.content}</p>
                  </li>
                ))}
              </ul>
            </>
          )
        }
      </Loaded>
      {editing && (
        <ReplyDialog
          reply={editing === "new" ? undefined : editing}
          teams={teams}
          onClose={() => setEditing(undefined)}
          onSaved={() => {
            setEditing(undefined);
            query.reload();
          }}
        />
      )}
      {deleting && (
        <DeleteDialog title="Delete this saved reply" onClose={() => setDeleting(undefined)} onDelete={() => remove(deleting.id)}>
          <p>Nobody on the team can insert “{deleting.name}” any more.</p>
        </DeleteDialog>
      )}
    </section>
  );
}

interface DialogProps {
  /** The reply that is changed; undefined for a new one. */
  reply: SavedReply | undefined;
  teams: readonly Team[];
  onClose: () => void;
  onSaved: () => void;
}

function ReplyDialog({ reply, teams, onClose, onSaved }: DialogProps) {
  const form = useForm(async ({ text }) => {
    // While the teams are unknown, the form has no field for them, and the reply keeps its team.
    const body = { name: text("name"), content: text("content"), ...(teams.length > 0 && { team_id: text("team_id") || null }) };
    await (reply ? api.updateSavedReply({ saved_reply_id: reply.id, body }) : api.createSavedReply({ body }));
    onSaved();
  });
  return (
    <Dialog title="Saved reply" onClose={onClose}>
      <form class="stack" onSubmit={form.onSubmit}>
        <TextField label="Name" name="name" required maxLength={100} defaultValue={reply?.name} error={form.errorAt("name")} />
        <TextArea
          label="Text"
          name="content"
          required
          maxLength={4000}
          rows={7}
          defaultValue={reply?.content}
          error={form.errorAt("content")}
        />
        {teams.length > 0 && (
          <Select
            label="Team"
            name="team_id"
            options={[["", "Everybody"], ...teams.map(({ id, name }) => [id, name] as const)]}
            value={reply?.team_id ?? ""}
            error={form.errorAt("team_id")}
          />
        )}
        <details>
          <summary>Variables</summary>
          <ul>
            {Object.entries(REPLY_VARIABLES).map(([name, meaning]) => (
              <li key={name}>
                <code>{`{{${name}}}`}</code> {meaning}
              </li>
            ))}
          </ul>
          <p class="quiet">A variable without a value stays in the text. It is to be replaced before the reply is sent.</p>
        </details>
        <FormEnd form={form}>Save</FormEnd>
      </form>
    </Dialog>
  );
}
