import { useState } from "preact/hooks";
import { SCOPES, scopesOfRole } from "../../../src/workspaces/scopes.ts";
import { InputError } from "../api.ts";
import type { Member } from "../members.ts";
import { hasScope, type Scope, session } from "../session.ts";
import { Checkbox, FieldError, Select } from "../ui/field.tsx";
import type { ErrorAt, FormValues } from "../ui/form.ts";

type Role = Member["role"];

export const ROLE_WORDS: Record<Role, string> = {
  owner: "Owner",
  admin: "Admin",
  agent: "Agent",
  viewer: "Viewer",
  custom: "Custom",
};

const ROLE_HINTS: Record<Role, string> = {
  owner: "May do everything, also manage owners.",
  admin: "May do everything except manage owners.",
  agent: "Answers conversations, and reads the rest.",
  viewer: "Reads conversations, knowledge and analytics, and changes nothing.",
  custom: "May do what you choose below.",
};

const SCOPE_WORDS: Record<Scope, string> = {
  "agents:read": "See agents",
  "agents:write": "Change agents and publish versions",
  "chat:write": "Ask agents in the playground",
  "conversations:read": "Read conversations",
  "conversations:write": "Reply, resolve, tag and assign",
  "leads:read": "Read leads",
  "knowledge:read": "Read the knowledge",
  "knowledge:write": "Change the knowledge",
  "analytics:read": "Read analytics and usage",
  "webhooks:read": "Read webhooks and their deliveries",
  "webhooks:write": "Change webhooks",
  "privacy:read": "Find and export a person’s data",
  "privacy:write": "Erase a person’s data",
  "keys:write": "Create and revoke API keys",
  "members:read": "See the members of the team",
  "members:write": "Manage members and read the audit log",
};

/** Whether the user may manage a member with a role and scopes. */
export function mayManage({ role, scopes }: Pick<Member, "role" | "scopes">): boolean {
  const isOwner = session.value?.kind === "workspace" && session.value.key.is_owner;
  return hasScope("members:write") && (role !== "owner" || isOwner) && scopes.every(hasScope);
}

interface Props {
  /** What is chosen at first. */
  member?: Member | undefined;
  errorAt: ErrorAt;
}

/** The fields of a form for a role and, for a custom one, its scopes. It offers what the user may give. */
export function RoleFields({ member, errorAt }: Props) {
  const roles = (Object.keys(ROLE_WORDS) as Role[]).filter((role) => mayManage({ role, scopes: scopesOfRole(role, []) }));
  const [role, setRole] = useState<Role>(member?.role ?? roles.find((one) => one === "agent") ?? "custom");
  return (
    <>
      <Select
        label="Role"
        name="role"
        options={roles.map((one) => [one, ROLE_WORDS[one]] as const)}
        value={role}
        onChoose={setRole}
        hint={ROLE_HINTS[role]}
        error={errorAt("role")}
      />
      {role === "custom" && (
        <fieldset>
          <legend>May</legend>
          {SCOPES.filter(hasScope).map((scope) => (
            <Checkbox
              key={scope}
              name="scopes"
              value={scope}
              label={SCOPE_WORDS[scope]}
              defaultChecked={member?.role === "custom" && member.scopes.includes(scope)}
            />
          ))}
          <FieldError text={errorAt("scopes")} />
        </fieldset>
      )}
    </>
  );
}

/** Reads the fields. @throws InputError if a custom role has no scope. */
export function readRole({ text, all }: FormValues): { role: Role; scopes?: Scope[] } {
  const role = text("role") as Role;
  if (role !== "custom") return { role };
  const scopes = all("scopes") as Scope[];
  if (scopes.length === 0) throw new InputError("Choose at least one.", "scopes");
  return { role, scopes };
}
