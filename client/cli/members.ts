import { paginate, type Schemas } from "../index.ts";
import { choiceOf, defineCommand, deleteEach, onlyParameter } from "./command.ts";
import { printCsv } from "./csv.ts";
import { connect } from "./environment.ts";
import { UsageError } from "./errors.ts";
import { note, print, printRecord, printTable, timeText } from "./terminal.ts";

const ROLES = ["owner", "admin", "agent", "viewer", "custom"] as const;

export const listMembers = defineCommand({
  name: "members ls",
  about: "Lists the members of the team.",
  parameters: "",
  options: {},
  examples: ["support-agent members ls"],
  run: async ({ options }) => {
    const { data } = await connect().listMembers();
    if (options.json) return data.forEach(printRecord);
    if (data.length === 0) return print("No members yet.");
    printTable(
      ["ID", "ROLE", "STATUS", "AVAILABILITY", "EMAIL", "NAME"],
      data.map(({ id, role, status, availability, email, name }) => [id, role, status, availability, email, name]),
    );
  },
});

export const inviteMember = defineCommand({
  name: "members invite",
  about: "Invites somebody to the team: mails the link that signs in once, or prints it if the service sends no mail.",
  parameters: "EMAIL",
  options: {
    role: { type: "string", value: "ROLE", about: `One of ${ROLES.join(", ")}. Default: agent.` },
    name: { type: "string", value: "NAME", about: "The name, which visitors see at replies." },
    scopes: { type: "string", value: "SCOPES", about: "The scopes of the role custom, separated by commas." },
    link: { type: "boolean", about: "Prints the link instead of mailing it." },
  },
  examples: [
    'support-agent members invite grace@example.com --name "Grace Hopper"',
    "support-agent members invite ada@example.com --role custom --scopes conversations:read,members:read",
  ],
  run: async ({ parameters, options }) => {
    const role = choiceOf("role", options.role, ROLES) ?? "agent";
    // The service refuses an unknown scope, and names the known ones.
    const scopes = options.scopes?.split(",") as Schemas["MemberCreate"]["scopes"];
    const body = { email: onlyParameter(parameters, "EMAIL"), name: options.name, role, scopes, ...(options.link && { mail: false }) };
    const invited = await connect().inviteMember({ body });
    if (options.json) return printRecord(invited);
    const { id, email, invitation } = invited;
    print(`${id}  ${email}`);
    if (invitation.url === null) return note(`The invitation was sent to ${email}.`);
    print(invitation.url);
    note(`Send the link to ${email}: it is not shown again, and works once, until ${timeText(invitation.expires_at)}.`);
  },
});

export const removeMembers = defineCommand({
  name: "members remove",
  about: "Removes members from the team: their sessions end at once, and their open conversations are assigned to nobody.",
  parameters: "MEMBER_ID ...",
  options: {},
  examples: ["support-agent members remove 019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00"],
  run: async ({ parameters }) => {
    const client = connect();
    await deleteEach(parameters, "MEMBER_ID", (member_id) => client.removeMember({ member_id }));
  },
});

export const listAudit = defineCommand({
  name: "audit",
  about: "Lists what was done in the workspace, newest first.",
  parameters: "",
  options: {
    action: { type: "string", value: "ACTION", about: "Only this action, such as agent.published." },
    actor: { type: "string", value: "ID", about: "Only what this member or key did, or operator." },
    since: { type: "string", value: "TIME", about: "Only since this time, such as 2026-01-31T00:00:00Z." },
    csv: { type: "boolean", about: "Prints the entries as CSV, with a line of column names." },
  },
  examples: ["support-agent audit --since 2026-01-31T00:00:00Z", "support-agent audit --csv > audit.csv"],
  run: async ({ options: { action, actor, since, csv, json } }) => {
    // The service refuses an unknown action, and names the known ones.
    const query = { action: action as Schemas["AuditLogEntry"]["action"] | undefined, actor, since };
    if (csv && json) throw new UsageError("Choose --csv or --json.");
    if (csv) return printCsv((client, place) => client.listAuditLog({ ...query, ...place }));
    const found: Schemas["AuditLogEntry"][] = [];
    for await (const entry of paginate(connect().listAuditLog, query)) found.push(entry);
    if (json) return found.forEach(printRecord);
    if (found.length === 0) return print("No entries.");
    printTable(
      ["TIME", "WHO", "ACTION", "TARGET", "DETAIL"],
      found.map((entry) => [
        timeText(entry.created_at),
        entry.actor.name ?? entry.actor.id ?? entry.actor.type,
        entry.action,
        entry.target_name ?? entry.target_id ?? "",
        JSON.stringify(entry.detail),
      ]),
    );
  },
});
