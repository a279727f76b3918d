import { newOperation, type Operation } from "../platform/db/client.ts";
import { MINUTE_MS } from "../platform/time.ts";
import { createLink, linkUrl } from "./links.ts";
import { mailSignIn } from "./mails.ts";
import { findByAddress } from "./sign-in-lookup.ts";

const LINK_MS = 15 * MINUTE_MS;

/** A request for a mail with a link that signs in. */
interface MailRequest {
  workspaceId: string;
  /** In lower case. */
  email: string;
  /** The network address of who asks. */
  client: string;
  /** The URL of the request, at whose host the link is opened. */
  requestUrl: string;
}

/**
 * Mails a link that signs in once, if the address is that of a member or of somebody who may join. Whoever asked must not be told the
 * outcome, nor wait for it: both would say whether the address is known.
 */
export async function mailSignInLink(
  env: Env,
  meter: Operation["meter"],
  { workspaceId, email, client, requestUrl }: MailRequest,
): Promise<"sent" | "not_sent" | "unknown"> {
  const found = await findByAddress(newOperation(env, meter, workspaceId), "mail", email);
  if (!found) return "unknown";
  const { workspace } = found;
  const isMember = "member" in found;
  const makeUrl = async () => linkUrl(requestUrl, await createLink(env, { workspaceId, email }, Date.now() + LINK_MS));
  return (await mailSignIn(env, workspace, { email, client, isMember, makeUrl })) ? "sent" : "not_sent";
}
