import { useState } from "preact/hooks";
import { exactTime } from "../../shared/time.ts";
import { api, type Schemas } from "../api.ts";
import { AVAILABILITIES, availability, type Member, rename, useMembers } from "../members.ts";
import { hasScope, me, ownMember } from "../session.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { FieldError, FormEnd, TextField } from "../ui/field.tsx";
import { useForm } from "../ui/form.ts";
import { Secret } from "../ui/secret.tsx";
import { Empty, Loaded, NeedsScope } from "../ui/states.tsx";
import { Table } from "../ui/table.tsx";
import { attempt, showMessage } from "../ui/toast.tsx";
import { MemberDialog } from "./member-dialog.tsx";
import { mayManage, readRole, ROLE_WORDS, RoleFields } from "./roles.tsx";

type Invited = Schemas["InvitedMember"];

/** The members of the team. */
export function MembersPage() {
  return (
    <NeedsScope scope="members:read">
      {ownMember() && <OwnName />}
      <Members />
    </NeedsScope>
  );
}

function Members() {
  const query = useMembers();
  const [isInviting, setInviting] = useState(false);
  const [invited, setInvited] = useState<Invited>();
  const [openId, setOpenId] = useState<string>();
  const open = query.data?.find(({ id }) => id === openId);
  const onInvited = (one: Invited) => {
    setInviting(false);
    setOpenId(undefined);
    setInvited(one);
    query.reload();
  };
  const isOpenable = (member: Member) => mayManage(member) || member.id === me().id;
  const nameCell = (member: Member) => {
    const text = member.id === me().id ? `${member.name} (you)` : member.name;
    return (
      <>
        {isOpenable(member) ? (
          <Button variant="quiet" onClick={() => setOpenId(member.id)}>
            {text}
          </Button>
        ) : (
          text
        )}
        <p class="quiet">{member.email}</p>
      </>
    );
  };
  return (
    <section class="card">
      <div class="card-top">
        <h2>Members</h2>
        {hasScope("members:write") && (
          <Button variant="primary" onClick={() => setInviting(true)}>
            Invite
          </Button>
        )}
      </div>
      <Loaded query={query} rows={3}>
        {(members) =>
          members.length === 0 ? (
            <Empty title="No members yet">
              A member signs in with an own account, and what the member writes and changes has that name. Invite yourself first, as an
              owner.
            </Empty>
          ) : (
            <Table
              label="Members"
              rows={members}
              keyOf={({ id }) => id}
              columns={[
                ["Name", nameCell],
                ["Role", ({ role }) => <span class="tag">{ROLE_WORDS[role]}</span>],
                ["Status", statusCell],
              ]}
            />
          )
        }
      </Loaded>
      {isInviting && (
        <Dialog title="Invite to the team" onClose={() => setInviting(false)}>
          <InviteForm onInvited={onInvited} />
        </Dialog>
      )}
      {open && (
        <MemberDialog key={open.id} member={open} onClose={() => setOpenId(undefined)} onChanged={query.reload} onInvited={onInvited} />
      )}
      {invited && <InvitationDialog invited={invited} onInvited={setInvited} onClose={() => setInvited(undefined)} />}
    </section>
  );
}

/** Whether a member has signed in and, if so, takes conversations. */
function statusCell({ id, status, availability: read }: Member) {
  if (status === "invited") return <span class="status">Invited</span>;
  const current = (id === me().id && availability.value) || read;
  return <span class={current === "available" ? "status ready" : "status"}>{AVAILABILITIES.find(([value]) => value === current)![1]}</span>;
}

function InviteForm({ onInvited }: { onInvited: (invited: Invited) => void }) {
  const form = useForm(async (values) => {
    const name = values.text("name");
    onInvited(await api.inviteMember({ body: { email: values.text("email"), ...(name && { name }), ...readRole(values) } }));
  });
  return (
    <form class="stack" onSubmit={form.onSubmit}>
      <TextField label="Email" name="email" type="email" required maxLength={320} autoComplete="off" error={form.errorAt("email")} />
      <TextField
        label="Name"
        name="name"
        maxLength={100}
        autoComplete="off"
        error={form.errorAt("name")}
        hint="Visitors see it at replies. It can be changed when the invitation is accepted."
      />
      <RoleFields errorAt={form.errorAt} />
      <FormEnd form={form}>Invite</FormEnd>
    </form>
  );
}

interface InvitationProps {
  invited: Invited;
  /** Called with the link that was made instead of one in a mail. */
  onInvited: (invited: Invited) => void;
  onClose: () => void;
}

/** Shows the link of an invitation, once, or that it was mailed. */
function InvitationDialog({ invited: { id, name, email, invitation }, onInvited, onClose }: InvitationProps) {
  const until = exactTime(Date.parse(invitation.expires_at), "en");
  const [isBusy, setBusy] = useState(false);
  const showLink = async () => {
    setBusy(true);
    await attempt(async () => onInvited(await api.renewInvitation({ member_id: id, body: { mail: false } })));
    setBusy(false);
  };
  return (
    <Dialog
      title={`Invitation of ${name}`}
      onClose={onClose}
      closeQuestion={invitation.url === null ? undefined : "Have you sent the link? It cannot be shown again."}
    >
      {invitation.url === null ? (
        <p>
          The invitation was sent to {email}. Its link works once, until {until}.
        </p>
      ) : (
        <>
          <p>
            Send this link to {email}. It signs in once, until {until}, and is shown only here.
          </p>
          <Secret value={invitation.url} />
        </>
      )}
      <div class="actions">
        {invitation.url === null && (
          <Button isBusy={isBusy} onClick={() => void showLink()}>
            Make a link to pass on
          </Button>
        )}
        <Button variant="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  );
}

/** Changes the name of the member who is signed in. */
function OwnName() {
  const form = useForm(async ({ text }) => {
    await rename(text("name"));
    showMessage("Saved");
  });
  return (
    <section class="card">
      <form class="inline-form" onSubmit={form.onSubmit}>
        <TextField
          label="Your name"
          name="name"
          required
          maxLength={100}
          autoComplete="name"
          defaultValue={ownMember()!.name}
          error={form.errorAt("name")}
          hint="Your colleagues and the visitors you reply to see it."
        />
        <Button type="submit" isBusy={form.isBusy}>
          Save
        </Button>
      </form>
      <FieldError text={form.error} />
    </section>
  );
}
