import { mailSender } from "../platform/config.ts";
import { sha256Hex } from "../platform/crypto/hashes.ts";
import { sendServiceMail } from "../platform/mail.ts";
import { objectOf } from "../platform/objects.ts";
import { toSingleLine } from "../platform/text.ts";
import type { MemberRow } from "./store.ts";

/*
 * The mails with links to the console. A workspace sends a bounded number of them, since the recipient may be anybody's address. Their
 * text contains nothing that a tenant writes but the name of the workspace.
 */

/** The most mails to one address in an hour. */
const PER_RECIPIENT = 5;
/** The most invitations of a workspace in an hour. */
const INVITATIONS = 200;
/** The most mails with sign-in links of a workspace in an hour. */
const SIGN_INS = 300;
/**
 * The most mails with sign-in links in an hour to people who are not members yet. The limit is lower, so that requests for made-up
 * addresses do not use up the mails of members.
 */
const JOINERS = 30;
/** The most mails with sign-in links in an hour that one network address may ask for. A whole team may share an address. */
const PER_CLIENT = 60;
const MAX_NAME_LENGTH = 100;

/** Mails the link of an invitation. @returns false if it was not sent, because the service sends no mail, the limit is reached, or it was refused. */
export async function mailInvitation(
  env: Env,
  { workspaceId, email }: Pick<MemberRow, "workspaceId" | "email">,
  { workspace, url }: { workspace: string; url: string },
): Promise<boolean> {
  if (mailSender(env) === undefined) return false;
  if (!(await countMail(env, workspaceId, { [await recipientName(email)]: PER_RECIPIENT, invitations: INVITATIONS }))) return false;
  const name = toSingleLine(workspace, MAX_NAME_LENGTH);
  const text = `You are invited to the team of ${name}, which answers its customers with the Support Agent Service.

Open this link to sign in. It works once, within 7 days:

${url}

If you do not expect an invitation, ignore this mail.
`;
  return sendServiceMail(env, { to: email, subject: `Invitation to the team of ${name}`, text });
}

/** Who asks for a link, and how it is made. */
interface LinkRequest {
  email: string;
  /** The network address of who asks. */
  client: string;
  isMember: boolean;
  makeUrl: () => Promise<string>;
}

/** Mails a link that signs in. @returns false if it was not sent, for the same reasons as an invitation. */
export async function mailSignIn(
  env: Env,
  workspace: { id: string; name: string; slug: string },
  { email, client, isMember, makeUrl }: LinkRequest,
): Promise<boolean> {
  if (mailSender(env) === undefined) return false;
  const limits = {
    [await recipientName(email)]: PER_RECIPIENT,
    [`from/${await sha256Hex(client)}`]: PER_CLIENT,
    "sign-ins": SIGN_INS,
    ...(!isMember && { joiners: JOINERS }),
  };
  if (!(await countMail(env, workspace.id, limits))) return false;
  const name = toSingleLine(workspace.name, MAX_NAME_LENGTH);
  const text = `Somebody asked to sign in to the console of ${name} (${workspace.slug}) with the address ${email}.

If it was you, open this link, and confirm there. It works once, within 15 minutes:

${await makeUrl()}

If it was not you, ignore this mail. Without the link, nobody is signed in.
`;
  return sendServiceMail(env, { to: email, subject: `Sign in to ${name}`, text });
}

/** Counts a mail of a workspace. @param limits of an hour, by what they count. @returns false if a limit is reached. */
function countMail(env: Env, workspaceId: string, limits: Record<string, number>): Promise<boolean> {
  return objectOf(env, env.SIGN_IN, `${workspaceId}/mails`).count(limits);
}

/** The name under which the mails to an address are counted. The address itself is not stored. */
async function recipientName(email: string): Promise<string> {
  return `to/${await sha256Hex(email)}`;
}
