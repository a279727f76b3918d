import { useState } from "preact/hooks";
import { useAgents } from "../agents.tsx";
import { api } from "../api.ts";
import { type Member, useMembers } from "../members.ts";
import { useQuery } from "../query.ts";
import { hasScope } from "../session.ts";
import { type Team, useTeams } from "../teams.ts";
import { Button, RecordButtons } from "../ui/button.tsx";
import { DeleteDialog } from "../ui/dialog.tsx";
import { Empty, Loaded, NeedsScope } from "../ui/states.tsx";
import { attempt } from "../ui/toast.tsx";
import { RuleDialog } from "./rule-dialog.tsx";
import { actionWords, conditionWords, namesOf, type Rule } from "./rule-words.ts";
import { TeamDialog } from "./team-dialog.tsx";

/** The teams, and the rules that give them conversations. */
export function RoutingPage() {
  return (
    <NeedsScope scope="conversations:read">
      <Teams />
    </NeedsScope>
  );
}

function Teams() {
  const teams = useTeams();
  const { data: members = [] } = useMembers();
  return (
    <div class="stack">
      <Loaded query={teams}>{(list) => <TeamList teams={list} members={members} reload={teams.reload} />}</Loaded>
      {teams.data && <Rules teams={teams.data} members={members} />}
    </div>
  );
}

interface TeamsProps {
  teams: readonly Team[];
  members: readonly Member[];
  reload: () => void;
}

function TeamList({ teams, members, reload }: TeamsProps) {
  const [editing, setEditing] = useState<Team | "new">();
  const [deleting, setDeleting] = useState<Team>();
  const mayWrite = hasScope("conversations:write");
  const add = mayWrite && (
    <Button variant="primary" onClick={() => setEditing("new")}>
      Add team
    </Button>
  );
  const remove = async (team_id: string) => {
    if (await attempt(() => api.deleteTeam({ team_id }), "Deleted")) reload();
    setDeleting(undefined);
  };
  return (
    <section class="stack" aria-label="Teams">
      <div class="card-top">
        <h2>Teams</h2>
        {teams.length > 0 && add}
      </div>
      {teams.length === 0 ? (
        <Empty title="No teams yet" action={add}>
          A team divides conversations among its members.
        </Empty>
      ) : (
        <ul class="stack">
          {teams.map((team) => (
            <li key={team.id} class="card">
              <div class="card-top">
                <strong>{team.name}</strong>
                {mayWrite && (
                  <div class="actions">
                    <RecordButtons name={team.name} onEdit={() => setEditing(team)} onDelete={() => setDeleting(team)} />
                  </div>
                )}
              </div>
              <p>{namesOf(team.member_ids, members) || "Nobody is in this team."}</p>
              <p class="quiet">
                At most {team.conversations_per_member} at a time for each member.
                {team.unassign_after_minutes !== null &&
                  ` Given to another member after ${team.unassign_after_minutes} minutes without a reply.`}
              </p>
            </li>
          ))}
        </ul>
      )}
      {editing && (
        <TeamDialog
          team={editing === "new" ? undefined : editing}
          members={members}
          onClose={() => setEditing(undefined)}
          onSaved={() => {
            setEditing(undefined);
            reload();
          }}
        />
      )}
      {deleting && (
        <DeleteDialog title="Delete this team" onClose={() => setDeleting(undefined)} onDelete={() => remove(deleting.id)}>
          <p>Its conversations keep their assignees. Those that wait in “{deleting.name}” stay unassigned.</p>
        </DeleteDialog>
      )}
    </section>
  );
}

function Rules({ teams, members }: Omit<TeamsProps, "reload">) {
  const query = useQuery("routing-rules", async (signal) => (await api.listRoutingRules({}, { signal })).data);
  const { data: agents = [] } = useAgents();
  const [editing, setEditing] = useState<Rule | "new">();
  const [deleting, setDeleting] = useState<Rule>();
  const mayWrite = hasScope("conversations:write");
  const add = mayWrite && (
    <Button variant="primary" onClick={() => setEditing("new")}>
      Add rule
    </Button>
  );
  const move = async (rule: Rule, by: number) => {
    const body = { position: rule.position + by };
    if (await attempt(() => api.updateRoutingRule({ routing_rule_id: rule.id, body }))) query.reload();
  };
  const remove = async (routing_rule_id: string) => {
    if (await attempt(() => api.deleteRoutingRule({ routing_rule_id }), "Deleted")) query.reload();
    setDeleting(undefined);
  };
  return (
    <section class="stack" aria-label="Routing rules">
      <Loaded query={query}>
        {(rules) => (
          <>
            <div class="card-top">
              <h2>Routing rules</h2>
              {rules.length > 0 && add}
            </div>
            {rules.length === 0 ? (
              <Empty title="No rules yet" action={add}>
                When an agent hands a conversation off, the first rule that fits decides who gets it.
              </Empty>
            ) : (
              <ol class="stack bare">
                {rules.map((rule, at) => (
                  <li key={rule.id} class="card">
                    <div class="card-top">
                      <strong>
                        {at + 1}. {rule.name}
                      </strong>
                      {mayWrite && (
                        <div class="actions">
                          <Button
                            variant="quiet"
                            aria-label={`Move up: ${rule.name}`}
                            disabled={at === 0}
                            onClick={() => void move(rule, -1)}
                          >
                            ↑
                          </Button>
                          <Button
                            variant="quiet"
                            aria-label={`Move down: ${rule.name}`}
                            disabled={at === rules.length - 1}
                            onClick={() => void move(rule, 1)}
                          >
                            ↓
                          </Button>
                          <RecordButtons name={rule.name} onEdit={() => setEditing(rule)} onDelete={() => setDeleting(rule)} />
                        </div>
                      )}
                    </div>
                    <p class="quiet">If {conditionWords(rule.conditions, agents) || "anything is handed off"}</p>
                    <p>{actionWords(rule.actions, teams, members)}</p>
                  </li>
                ))}
              </ol>
            )}
          </>
        )}
      </Loaded>
      {editing && (
        <RuleDialog
          rule={editing === "new" ? undefined : editing}
          {...{ teams, members, agents }}
          onClose={() => setEditing(undefined)}
          onSaved={() => {
            setEditing(undefined);
            query.reload();
          }}
        />
      )}
      {deleting && (
        <DeleteDialog title="Delete this rule" onClose={() => setDeleting(undefined)} onDelete={() => remove(deleting.id)}>
          <p>Hand-offs are not routed by “{deleting.name}” any more. Conversations that it has routed stay as they are.</p>
        </DeleteDialog>
      )}
    </section>
  );
}
