import { z } from "@hono/zod-openapi";
import { AVAILABILITIES, MEMBER_ROLES, MEMBER_STATUSES, SIGN_IN_METHODS } from "../platform/db/columns.ts";
import { emailAddress, filledPersonName, timestamp, toRecord, toTimestamp, uuid } from "../platform/http/fields.ts";
import { pageOf } from "../platform/http/page.ts";
import { valueErrorParams } from "../platform/http/validation.ts";
import { SCOPES, scopesOfRole } from "../workspaces/scopes.ts";
import type { listSessions, MemberRow } from "./store.ts";

const ROLE_DESCRIPTION =
  "`owner` may do everything; `admin` everything except with owners; `agent` answers conversations; `viewer` only reads; `custom` has the scopes in `scopes`.";

export const memberSchema = z
  .object({
    id: uuid(),
    name: z.string().meta({ description: "The name, which visitors see at replies.", example: "Grace Hopper" }),
    email: z.string().meta({ description: "The email address, in lower case.", example: "grace@example.com" }),
    role: z.enum(MEMBER_ROLES).meta({ description: ROLE_DESCRIPTION }),
    scopes: z.array(z.enum(SCOPES)).meta({ description: "The scopes that the role gives." }),
    status: z.enum(MEMBER_STATUSES).meta({ description: "`invited` until the member has signed in for the first time." }),
    availability: z.enum(AVAILABILITIES).meta({ description: "Whether the member takes conversations now." }),
    team_ids: z.array(uuid()).meta({ description: "The teams that the member is in." }),
    created_at: timestamp(),
    updated_at: timestamp(),
  })
  .openapi("Member");

export const memberPageSchema = pageOf(memberSchema, "MemberPage");

const fields = z.object({
  name: filledPersonName().meta({ description: "The name, which visitors see at replies." }),
  role: z.enum(MEMBER_ROLES).meta({ description: ROLE_DESCRIPTION }),
  scopes: z.array(z.enum(SCOPES)).min(1).max(SCOPES.length).meta({ description: "The scopes of the role `custom`; only for that role." }),
});

type Given = { [Name in "role" | "scopes"]?: z.infer<typeof fields>[Name] | undefined };
const hasScopesOfCustom = ({ role, scopes }: Given) => (role === "custom") === (scopes !== undefined);
const SCOPES_RULE = valueErrorParams("send scopes with the role custom, and only with it");

const mail = z
  .boolean()
  .default(true)
  .meta({ description: "Whether the link is mailed to the member, if the service sends mail. Otherwise the response has it." });

export const invitationRenewSchema = z.object({ mail }).openapi("InvitationRenew", { example: { mail: false } });

export const memberCreateSchema = fields
  .extend({ email: emailAddress().max(320).toLowerCase().meta({ description: "The email address." }), mail })
  .partial({ name: true, scopes: true })
  .refine(hasScopesOfCustom, { ...SCOPES_RULE, path: ["scopes"] })
  .openapi("MemberCreate", { example: { email: "grace@example.com", name: "Grace Hopper", role: "agent" } });

export const memberUpdateSchema = fields
  .extend({ availability: z.enum(AVAILABILITIES).meta({ description: "Whether the member takes conversations now." }) })
  .partial()
  .refine((given) => given.role === undefined || hasScopesOfCustom(given), { ...SCOPES_RULE, path: ["scopes"] })
  .openapi("MemberUpdate", { description: "Fields that are left out stay unchanged.", example: { role: "admin" } });

const invitationSchema = z
  .object({
    url: z
      .string()
      .nullable()
      .meta({ description: "The link that signs the member in once, to pass on. It is shown only here. Null if it was mailed." }),
    expires_at: timestamp().meta({ description: "Until when the link works." }),
  })
  .openapi("Invitation");

export const invitedMemberSchema = memberSchema
  .extend({ invitation: invitationSchema.meta({ description: "How the member signs in for the first time." }) })
  .openapi("InvitedMember");

const sessionSchema = z
  .object({
    id: uuid(),
    method: z.enum(SIGN_IN_METHODS).meta({ description: "How the member signed in." }),
    client: z.string().nullable().meta({ description: "The browser, by its User-Agent.", example: "Mozilla/5.0 (X11; Linux x86_64)" }),
    is_current: z.boolean().meta({ description: "Whether this request uses it." }),
    created_at: timestamp(),
    expires_at: timestamp().meta({ description: "When it ends by itself." }),
  })
  .openapi("MemberSession");

export const sessionPageSchema = pageOf(sessionSchema, "MemberSessionPage");

/** The wire record of a member. */
export function toMember(row: MemberRow): z.infer<typeof memberSchema> {
  return toRecord(memberSchema, row, { scopes: scopesOfRole(row.role, row.scopes) });
}

/** The wire record of a member with an invitation. @param url null if it was mailed. */
export function toInvited(row: MemberRow, url: string | null, expiresAtMs: number): z.infer<typeof invitedMemberSchema> {
  return { ...toMember(row), invitation: { url, expires_at: toTimestamp(expiresAtMs) } };
}

/** The wire record of a session. @param currentId the session of the request. */
export function toSession(row: Awaited<ReturnType<typeof listSessions>>[number], currentId: string): z.infer<typeof sessionSchema> {
  return toRecord(sessionSchema, row, { is_current: row.id === currentId });
}
