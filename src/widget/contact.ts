import type { AppContext } from "../http/context.ts";
import { notFound } from "../http/errors.ts";
import { addLead } from "../leads/leads.ts";
import { agentDb, noConversation, openedAgent, readVisitor, refuseToken } from "./opening.ts";
import { findOpenAgent, findOwnConversation, findTokenVisitor } from "./store.ts";
import type { LeadIn } from "./wire.ts";

/**
 * Keeps what a visitor left in a contact form.
 * @throws ApiError for a token, a conversation or an agent that is not the visitor's.
 */
export async function leaveContact(c: AppContext, agentId: string, body: LeadIn) {
  const claim = body.visitor_token ? await readVisitor(c, body.visitor_token, agentId) : undefined;
  const conversationId = body.conversation_id ?? null;
  const db = await agentDb(c, agentId);
  const named = claim ?? { agentId, visitorId: "" };
  const [[found], [visitor], [conversation]] = await db.batch([
    findOpenAgent(db, agentId),
    findTokenVisitor(db, named),
    findOwnConversation(db, named, conversationId ?? ""),
  ]);
  const { workspaceId } = openedAgent(c, found);
  if (claim && !visitor) throw refuseToken("The visitor_token's visitor is not known any more. Begin anew without one.");
  if (conversationId !== null && !conversation) throw noConversation();
  const lead = await addLead(
    { env: c.env, meter: c.get("meter"), workspaceId, nowMs: Date.now() },
    {
      agentId,
      conversationId,
      visitorId: visitor?.mergedInto ?? visitor?.id ?? null,
      name: body.name ?? null,
      email: body.email ?? null,
      phone: body.phone ?? null,
      message: body.message ?? null,
      customFields: body.custom_fields ?? {},
      sourceUrl: body.source_url ?? null,
    },
  );
  if (!lead) throw notFound("agent");
  return lead;
}
