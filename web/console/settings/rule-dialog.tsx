import { useState } from "preact/hooks";
import { api, type Schemas } from "../api.ts";
import { CHANNEL_WORDS } from "../inbox/words.tsx";
import type { Member } from "../members.ts";
import { PRIORITIES, type Team } from "../teams.ts";
import { Dialog } from "../ui/dialog.tsx";
import { FieldError, FormEnd, Select, TextArea, TextField } from "../ui/field.tsx";
import { type ErrorAt, linesOf, useForm } from "../ui/form.ts";
import { languageName, LANGUAGES } from "./languages.ts";
import type { Rule } from "./rule-words.ts";

const CHANNELS = ["widget", "hosted", "email", "api"] as const;

interface Props {
  /** The rule that is changed; undefined for a new one. */
  rule: Rule | undefined;
  teams: readonly Team[];
  members: readonly Member[];
  agents: readonly Schemas["Agent"][];
  onClose: () => void;
  onSaved: () => void;
}

export function RuleDialog({ rule, teams, members, agents, onClose, onSaved }: Props) {
  const { conditions = {}, actions = {} } = rule ?? {};
  const form = useForm(async ({ text, all }) => {
    const given = (name: string) => text(name) || undefined;
    const contains = linesOf(text("contains"));
    const assignee = given("assignee");
    const body = {
      name: text("name"),
      conditions: filled({
        channel: given("channel"),
        agent_id: given("agent_id"),
        language: given("language"),
        tag: given("with_tag"),
        contains: contains.length > 0 ? contains : undefined,
      }) as Rule["conditions"],
      actions: filled({
        team_id: all("team_id")[0] || undefined,
        assign: assignee === TURNS ? TURNS : undefined,
        assignee_id: assignee === TURNS ? undefined : assignee,
        tag: given("add_tag"),
        priority: given("priority"),
      }) as Rule["actions"],
    };
    await (rule ? api.updateRoutingRule({ routing_rule_id: rule.id, body }) : api.createRoutingRule({ body }));
    onSaved();
  });
  return (
    <Dialog title="Routing rule" onClose={onClose}>
      <form class="stack" onSubmit={form.onSubmit}>
        <TextField label="Name" name="name" required maxLength={100} defaultValue={rule?.name} error={form.errorAt("name")} />
        <Conditions conditions={conditions} agents={agents} errorAt={form.errorAt} />
        <Actions actions={actions} teams={teams} members={members} errorAt={form.errorAt} />
        <FormEnd form={form}>Save</FormEnd>
      </form>
    </Dialog>
  );
}

interface ConditionsProps extends Pick<Props, "agents"> {
  conditions: Rule["conditions"];
  errorAt: ErrorAt;
}

function Conditions({ conditions, agents, errorAt }: ConditionsProps) {
  return (
    <fieldset class="stack">
      <legend>If all of these hold</legend>
      <Select
        label="Channel"
        name="channel"
        options={[["", "Any"], ...CHANNELS.map((each) => [each, CHANNEL_WORDS[each]] as const)]}
        value={conditions.channel ?? ""}
      />
      {(agents.length > 1 || conditions.agent_id) && (
        <Select
          label="Agent"
          name="agent_id"
          options={[["", "Any"], ...choicesOf(agents, conditions.agent_id)]}
          value={conditions.agent_id ?? ""}
          error={errorAt("conditions.agent_id")}
        />
      )}
      <Select
        label="Language of the visitor"
        name="language"
        options={[["", "Any"], ...LANGUAGES.map((code) => [code, languageName(code)] as const)]}
        value={conditions.language ?? ""}
      />
      <TextField label="Has the tag" name="with_tag" maxLength={200} defaultValue={conditions.tag} error={errorAt("conditions.tag")} />
      <TextArea
        label="Words or phrases"
        name="contains"
        rows={3}
        defaultValue={conditions.contains?.join("\n")}
        error={errorAt("conditions.contains")}
        hint="One per line. The visitor has written one of them."
      />
    </fieldset>
  );
}

interface ActionsProps extends Pick<Props, "teams" | "members"> {
  actions: Rule["actions"];
  errorAt: ErrorAt;
}

function Actions({ actions, teams, members, errorAt }: ActionsProps) {
  const [teamId, setTeamId] = useState(actions.team_id ?? "");
  return (
    <fieldset class="stack">
      <legend>Then</legend>
      <Select
        label="Team"
        name="team_id"
        options={[["", "Unchanged"], ...teams.map(({ id, name }) => [id, name] as const)]}
        value={teamId}
        onChoose={setTeamId}
        error={errorAt("actions.team_id")}
      />
      <Select
        label="Assigned to"
        name="assignee"
        options={[
          ["", "Nobody"],
          ...(teamId === "" ? [] : [[TURNS, "The members of the team, in turn"] as const]),
          ...choicesOf(members, actions.assignee_id),
        ]}
        value={actions.assign ?? actions.assignee_id ?? ""}
        error={errorAt("actions.assignee_id")}
      />
      <Select label="Priority" name="priority" options={[["", "Unchanged"], ...PRIORITIES]} value={actions.priority ?? ""} />
      <TextField label="Add the tag" name="add_tag" maxLength={200} defaultValue={actions.tag} error={errorAt("actions.tag")} />
      <FieldError text={errorAt("actions")} />
    </fieldset>
  );
}

/** The value of the field for the assignee that lets members take turns. */
const TURNS = "round_robin";

/** Lists records to choose from. The one that a rule names is among them even if it was deleted or cannot be read, so that it is kept. */
function choicesOf(records: readonly { id: string; name: string }[], named: string | undefined): [id: string, text: string][] {
  const choices = records.map(({ id, name }): [string, string] => [id, name]);
  const isMissing = named !== undefined && records.every(({ id }) => id !== named);
  return isMissing ? [...choices, [named, "One that is not listed"]] : choices;
}

/** Leaves out fields without a value. */
function filled(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
