import { useRef, useState } from "preact/hooks";
import { api, downloadCsv, type Schemas } from "../api.ts";
import { usePages } from "../lists.ts";
import { useMembers } from "../members.ts";
import { Button } from "../ui/button.tsx";
import { Select, TextField } from "../ui/field.tsx";
import { actorText, countOf, formatPercent, labelOf, Time } from "../ui/format.tsx";
import { saveFile } from "../ui/page.tsx";
import { PagesTable } from "../ui/pages.tsx";
import { Empty, NeedsScope } from "../ui/states.tsx";
import { attempt } from "../ui/toast.tsx";
import { METHOD_WORDS } from "./member-dialog.tsx";
import { ROLE_WORDS } from "./roles.tsx";

type Entry = Schemas["AuditLogEntry"];
type Action = Entry["action"];

/** What an action did, in the past tense before its target. */
const ACTION_WORDS: Record<Action, string> = {
  "agent.created": "added the agent",
  "agent.updated": "changed the agent",
  "agent.deleted": "deleted the agent",
  "agent.published": "published a version of the agent",
  "agent.rolled_back": "restored a version of the agent",
  "agent.rollout_changed": "changed the rollout of the agent",
  "agent.identity_secret_rotated": "rotated the identity secret of the agent",
  "key.created": "created the API key",
  "key.revoked": "revoked the API key",
  "member.invited": "invited the member",
  "member.joined": "joined the team",
  "member.updated": "changed the member",
  "member.removed": "removed the member",
  "member.signed_in": "signed in",
  "member.session_ended": "ended a session of the member",
  "application.connected": "connected an application",
  "application.disconnected": "disconnected an application",
  "sign_in.updated": "changed how members sign in",
  "team.created": "created the team",
  "team.updated": "changed the team",
  "team.deleted": "deleted the team",
  "routing_rule.created": "created the routing rule",
  "routing_rule.updated": "changed the routing rule",
  "routing_rule.deleted": "deleted the routing rule",
  "webhook.created": "added the webhook endpoint",
  "webhook.updated": "changed the webhook endpoint",
  "webhook.deleted": "deleted the webhook endpoint",
  "webhook.secret_rotated": "rotated the secret of the webhook endpoint",
  "privacy.export": "exported the data of a person",
  "privacy.erase": "erased the data of a person",
};

/** The actions without a target, and those whose target is who did it. */
const WITHOUT_TARGET = new Set<Action>([
  "application.connected",
  "application.disconnected",
  "member.joined",
  "member.signed_in",
  "sign_in.updated",
  "privacy.export",
  "privacy.erase",
]);

interface Filter {
  action: Action | "";
  actor: string;
  /** A day of the user's time zone. */
  since: string;
}

/** The audit log of the workspace. */
export function AuditLog() {
  return (
    <NeedsScope scope="members:write">
      <Log />
    </NeedsScope>
  );
}

function Log() {
  const [filter, setFilter] = useState<Filter>({ action: "", actor: "", since: "" });
  const [isExporting, setExporting] = useState(false);
  const query = {
    ...(filter.action && { action: filter.action }),
    ...(filter.actor && { actor: filter.actor }),
    ...(filter.since && { since: new Date(`${filter.since}T00:00`).toISOString() }),
  };
  const pages = usePages(JSON.stringify(query), (place, options) => api.listAuditLog({ ...query, ...place }, options));
  const exportAll = async () => {
    setExporting(true);
    await attempt(async () => saveFile("audit.csv", await downloadCsv("/api/v1/audit", query)));
    setExporting(false);
  };
  const change = (changes: Partial<Filter>) => setFilter({ ...filter, ...changes });
  const isFiltered = Object.keys(query).length > 0;
  return (
    <section class="stack" aria-label="Audit log">
      <div class="inline-form">
        <Select
          label="Action"
          options={[["", "All"], ...Object.entries(ACTION_WORDS).map(([action, words]) => [action as Action, upperFirst(words)] as const)]}
          value={filter.action}
          onChoose={(action) => change({ action })}
        />
        <Select label="Who" options={useActors(pages.items)} value={filter.actor} onChoose={(actor) => change({ actor })} />
        <TextField
          label="Since"
          type="date"
          value={filter.since}
          onChange={({ currentTarget }) => change({ since: currentTarget.value })}
        />
        <Button isBusy={isExporting} disabled={pages.items.length === 0} onClick={() => void exportAll()}>
          Export CSV
        </Button>
      </div>
      <PagesTable
        pages={pages}
        label="Audit log"
        columns={[
          ["What", (entry) => <Sentence entry={entry} />],
          ["When", ({ created_at: at }) => <Time at={at} />],
        ]}
        empty={
          isFiltered ? (
            <Empty title="Nothing was found">No entry matches these filters.</Empty>
          ) : (
            <Empty title="Nothing was recorded">Changes of agents, keys, members and webhooks, sign-ins and exports are listed here.</Empty>
          )
        }
      />
    </section>
  );
}

/** The options for who acted: the members and, as they are found in the log, keys and former members. */
function useActors(entries: readonly Entry[]): [string, string][] {
  const { data: members = [] } = useMembers();
  const found = useRef(new Map<string, string>()).current;
  for (const { actor } of entries) if (actor.id !== null) found.set(actor.id, actorText(actor));
  for (const { id, name } of members) found.set(id, name);
  return [["", "Everybody"], ...found, ["operator", "The operator"]];
}

/** What was done, in a sentence. */
function Sentence({ entry }: { entry: Entry }) {
  const { actor, action, target_id: id, target_name: name } = entry;
  const hasTarget = id !== null && !WITHOUT_TARGET.has(action);
  return (
    <>
      <strong title={actor.id ?? undefined}>{actorText(actor)}</strong> {ACTION_WORDS[action]}
      {hasTarget && <> {name === null ? <code>{id}</code> : <span title={id}>{name}</span>}</>}
      {detailText(entry)}
    </>
  );
}

/** What the detail of an entry says, after the target. It has other keys for each action. */
function detailText({ action, detail }: Entry): string {
  const of = detail as Partial<{
    fields: string[];
    role: keyof typeof ROLE_WORDS;
    method: keyof typeof METHOD_WORDS;
    version: number;
    share: number;
    end: "keep" | "drop";
    deleted: Record<string, number>;
  }>;
  if (of.method) return ` ${METHOD_WORDS[of.method]}`;
  const role = of.role && ROLE_WORDS[of.role].toLowerCase();
  if (role && action === "member.invited") return ` as ${role}`;
  // What is added has values in all fields, so only a change names them.
  const fields = action.endsWith(".updated") ? (of.fields ?? []) : [];
  const parts = [
    ...fields.map((field) => (field === "role" && role ? `role ${role}` : labelOf(field).toLowerCase())),
    of.version !== undefined && `version ${of.version}`,
    of.share !== undefined && `${formatPercent(of.share)} of new conversations`,
    of.end && (of.end === "keep" ? "kept the version" : "dropped the version"),
    of.deleted &&
      countOf(
        Object.values(of.deleted).reduce((sum, count) => sum + count, 0),
        "record",
      ),
  ].filter(Boolean);
  return parts.length > 0 ? `: ${parts.join(", ")}` : "";
}

function upperFirst(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
