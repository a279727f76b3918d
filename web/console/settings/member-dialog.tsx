import { useState } from "preact/hooks";
import { api, type Schemas } from "../api.ts";
import type { Member } from "../members.ts";
import { useQuery } from "../query.ts";
import { me } from "../session.ts";
import { Button } from "../ui/button.tsx";
import { Confirm, Dialog } from "../ui/dialog.tsx";
import { FieldError } from "../ui/field.tsx";
import { useForm } from "../ui/form.ts";
import { Time } from "../ui/format.tsx";
import { Loaded } from "../ui/states.tsx";
import { attempt, showError, showMessage } from "../ui/toast.tsx";
import { mayManage, readRole, RoleFields } from "./roles.tsx";

interface Props {
  member: Member;
  onClose: () => void;
  onChanged: () => void;
  onInvited: (invited: Schemas["InvitedMember"]) => void;
}

/** A member: the role, where the member is signed in, and the removal. */
export function MemberDialog({ member, onClose, onChanged, onInvited }: Props) {
  const [isRemoving, setRemoving] = useState(false);
  const isManaged = mayManage(member);
  const onDone = () => {
    onChanged();
    onClose();
  };
  return (
    <Dialog title={member.name} onClose={onClose}>
      {member.status === "invited" && isManaged && <Invitation member={member} onInvited={onInvited} />}
      {isManaged && <RoleForm member={member} onDone={onDone} />}
      {member.status === "active" && <Sessions memberId={member.id} />}
      {member.status === "active" && <Applications memberId={member.id} />}
      {isManaged && (
        <div class="actions">
          <Button variant="danger" onClick={() => setRemoving(true)}>
            Remove from the team …
          </Button>
        </div>
      )}
      {isRemoving && <Removal member={member} onClose={() => setRemoving(false)} onDone={onDone} />}
    </Dialog>
  );
}

function Invitation({ member: { id, email }, onInvited }: Pick<Props, "member" | "onInvited">) {
  const [isBusy, setBusy] = useState(false);
  const renew = async () => {
    setBusy(true);
    try {
      onInvited(await api.renewInvitation({ member_id: id }));
    } catch (error) {
      showError(error);
      setBusy(false);
    }
  };
  return (
    <div class="card-top">
      <p>{email} has yet to accept the invitation.</p>
      <Button isBusy={isBusy} onClick={() => void renew()}>
        Invite again
      </Button>
    </div>
  );
}

function RoleForm({ member, onDone }: { member: Member; onDone: () => void }) {
  const form = useForm(async (values) => {
    await api.updateMember({ member_id: member.id, body: readRole(values) });
    // The pages that are offered follow from the own role.
    if (member.id === me().id) return location.reload();
    showMessage("Saved");
    onDone();
  });
  return (
    <form class="stack" onSubmit={form.onSubmit}>
      <RoleFields member={member} errorAt={form.errorAt} />
      <FieldError text={form.error} />
      <Button type="submit" isBusy={form.isBusy}>
        Change role
      </Button>
    </form>
  );
}

type Session = Schemas["MemberSession"];

/** How a member signed in, after "signed in". */
export const METHOD_WORDS: Record<Session["method"], string> = {
  invitation: "with an invitation",
  mail: "with a link in an email",
  oidc: "with an identity provider",
  access: "with Cloudflare Access",
};

/** Where a member is signed in. Each session can be ended. */
function Sessions({ memberId }: { memberId: string }) {
  const query = useQuery(
    `sessions ${memberId}`,
    async (signal) => (await api.listMemberSessions({ member_id: memberId }, { signal })).data,
  );
  const end = async (id: string) => {
    if (await attempt(() => api.endMemberSession({ member_id: memberId, session_id: id }), "Ended")) query.reload();
  };
  return (
    <section class="stack" aria-label="Signed in">
      <h3>Signed in</h3>
      <Loaded query={query} rows={2}>
        {(sessions) =>
          sessions.length === 0 ? (
            <p class="quiet">Nowhere.</p>
          ) : (
            <ul class="stack">
              {sessions.map((session) => (
                <li key={session.id} class="card-top">
                  <div class="grow">
                    <p>{browserOf(session.client)}</p>
                    <p class="quiet">
                      {session.is_current && "This session · "}
                      <Time at={session.created_at} />, {METHOD_WORDS[session.method]}
                    </p>
                  </div>
                  {!session.is_current && (
                    <Button aria-label={`End the session of ${browserOf(session.client)}`} onClick={() => void end(session.id)}>
                      End
                    </Button>
                  )}
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </section>
  );
}

/** The applications that a member has connected. Each can be disconnected. */
function Applications({ memberId }: { memberId: string }) {
  const query = useQuery(
    `applications ${memberId}`,
    async (signal) => (await api.listMemberApplications({ member_id: memberId }, { signal })).data,
  );
  const disconnect = async (id: string) => {
    const ids = { member_id: memberId, application_id: id };
    if (await attempt(() => api.disconnectMemberApplication(ids), "Disconnected")) query.reload();
  };
  return (
    <section class="stack" aria-label="Connected applications">
      <h3>Connected applications</h3>
      <Loaded query={query} rows={1}>
        {(applications) =>
          applications.length === 0 ? (
            <p class="quiet">None.</p>
          ) : (
            <ul class="stack">
              {applications.map(({ id, name, host, created_at: connectedAt, scopes }) => (
                <li key={id} class="card-top">
                  <div class="grow">
                    <p>{name}</p>
                    <p class="quiet">
                      {host} · <Time at={connectedAt} />,{" "}
                      {scopes.some((scope) => scope.endsWith(":write")) ? "reads and changes" : "only reads"}
                    </p>
                  </div>
                  <Button aria-label={`Disconnect ${name}`} onClick={() => void disconnect(id)}>
                    Disconnect
                  </Button>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </section>
  );
}

/** Names the browser and the system of a User-Agent. A name stands before those that it also claims to be. */
function browserOf(client: string | null): string {
  const browser = ["Edg", "OPR", "Firefox", "Chrome", "Safari"].find((name) => client?.includes(`${name}/`));
  const system = ["Android", "iPhone", "iPad", "Windows", "Mac OS X", "Linux"].find((name) => client?.includes(name));
  const names: Record<string, string> = { Edg: "Edge", OPR: "Opera", "Mac OS X": "macOS" };
  const known = [browser, system].flatMap((name) => (name === undefined ? [] : (names[name] ?? name)));
  return known.length > 0 ? known.join(" on ") : (client ?? "Unknown browser");
}

function Removal({ member, onClose, onDone }: { member: Member; onClose: () => void; onDone: () => void }) {
  const remove = async () => {
    if (await attempt(() => api.removeMember({ member_id: member.id }), "Removed")) onDone();
    else onClose();
  };
  return (
    <Confirm title={`Remove ${member.name}`} confirm="Remove" isDanger onClose={onClose} onConfirm={remove}>
      <p>
        {member.id === me().id ? "You are" : `${member.name} is`} signed out everywhere at once, and the open conversations are assigned to
        nobody. The name stays at what was written.
      </p>
    </Confirm>
  );
}
