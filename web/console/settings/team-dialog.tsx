import { api } from "../api.ts";
import type { Member } from "../members.ts";
import type { Team } from "../teams.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Checkbox, FieldError, FormEnd, TextField } from "../ui/field.tsx";
import { useForm } from "../ui/form.ts";

interface Props {
  /** The team that is changed; undefined for a new one. */
  team: Team | undefined;
  members: readonly Member[];
  onClose: () => void;
  onSaved: () => void;
}

export function TeamDialog({ team, members, onClose, onSaved }: Props) {
  const form = useForm(async ({ text, all }) => {
    const body = {
      name: text("name"),
      // While the members are unknown, the form has no fields for them, and the team keeps its own.
      ...(members.length > 0 && { member_ids: all("member_ids") }),
      conversations_per_member: Number(text("conversations_per_member")),
      unassign_after_minutes: Number(text("unassign_after_minutes")) || null,
    };
    await (team ? api.updateTeam({ team_id: team.id, body }) : api.createTeam({ body }));
    onSaved();
  });
  return (
    <Dialog title="Team" onClose={onClose}>
      <form class="stack" onSubmit={form.onSubmit}>
        <TextField label="Name" name="name" required maxLength={100} defaultValue={team?.name} error={form.errorAt("name")} />
        <fieldset>
          <legend>Members</legend>
          {members.map(({ id, name, status }) => (
            <Checkbox
              key={id}
              name="member_ids"
              value={id}
              defaultChecked={team?.member_ids.includes(id) ?? false}
              label={`${name}${status === "invited" ? ", invited" : ""}`}
            />
          ))}
          {members.length === 0 && (
            <p class="quiet">
              {team?.member_ids.length ? "They cannot be listed here, and stay as they are." : "Invite members to your workspace first."}
            </p>
          )}
          <FieldError text={form.errorAt("member_ids")} />
        </fieldset>
        <TextField
          label="Conversations for each member"
          name="conversations_per_member"
          type="number"
          required
          min={1}
          max={500}
          defaultValue={`${team?.conversations_per_member ?? 10}`}
          error={form.errorAt("conversations_per_member")}
          hint="Members who have this many unresolved ones get no more when they take turns."
        />
        <TextField
          label="Minutes without a reply"
          name="unassign_after_minutes"
          type="number"
          min={1}
          max={10_080}
          defaultValue={`${team?.unassign_after_minutes ?? ""}`}
          error={form.errorAt("unassign_after_minutes")}
          hint="After these minutes of business hours, a conversation is given to another member. Empty: never."
        />
        <FormEnd form={form}>Save</FormEnd>
      </form>
    </Dialog>
  );
}
