import { createRoute, z } from "@hono/zod-openapi";
import { withAddresses } from "../attachments/links.ts";
import { API_OWNER, type TakenFiles } from "../attachments/store.ts";
import { attachmentIds } from "../attachments/wire.ts";
import { changeConversation, type ConversationOperation, replyAsHuman, toTeamText } from "../conversations/conversations.ts";
import {
  conversationSchema,
  conversationUpdateSchema,
  teamMemberSchema,
  replyInSchema,
  replySchema,
  toMessage,
  transcriptSchema,
} from "../conversations/wire.ts";
import { jsonBody } from "../platform/http/body.ts";
import { ApiError, notFound } from "../platform/http/errors.ts";
import { agentRef, emailAddress, filledText, personName, uuid } from "../platform/http/fields.ts";
import { errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { addProblem } from "../platform/http/validation.ts";
import { isForHumans } from "../conversations/status.ts";
import { findConversation, SUBJECT_LENGTH } from "../conversations/store.ts";
import { findTeam } from "../routing/team-store.ts";
import { unknownTeam } from "../routing/team-wire.ts";
import { toSingleLine } from "../platform/text.ts";
import { authorOf, changerOf, limitReached, needsScope, noRoomFor, operationOf } from "../workspaces/checks.ts";
import { toOpening } from "../workspaces/business-hours-wire.ts";
import { REDACTED } from "../redaction/fields.ts";
import { apiVisitor } from "./question.ts";
import { type FirstMessage, startConversation } from "./start.ts";
import { unknownFiles } from "./refusals.ts";
import { notifyVisitor } from "./visitor-sockets.ts";
import { endUserSchema } from "./wire.ts";

/** The operations with which the team starts and changes conversations. They notify the visitors' open pages. */
export const conversationChangeRoutes = createRouter("Conversations");

const conversationParams = z.object({ conversation_id: uuid() });

/** The limit is from RFC 5321, section 4.5.3.1.3. */
const MAX_ADDRESS_LENGTH = 254;

const startInSchema = z
  .object({
    agent_id: agentRef().meta({
      description:
        "The agent that answers once the conversation is resolved or its status is set to open. A mail is sent from its mailbox.",
    }),
    channel: z.enum(["email", "api"]).meta({ description: "The channel on which the person reads the message." }),
    to: z
      .object({
        email: emailAddress().max(MAX_ADDRESS_LENGTH).meta({ description: "Their email address.", example: "ann@example.com" }),
        name: personName()
          .nullable()
          .optional()
          .meta({ ...REDACTED, description: "Their name.", example: "Ann Lee" }),
      })
      .nullable()
      .optional()
      .meta({ description: "The recipient of the mail, which the channel email needs." }),
    user: endUserSchema
      .nullable()
      .meta({ description: "Your user who takes part in the conversation, which the channel api needs." })
      .optional(),
    subject: z
      .string()
      .min(1)
      .max(200)
      .nullable()
      .optional()
      .meta({
        ...REDACTED,
        description: "The subject of the mail. By default it is the beginning of the text.",
        example: "Your order 4711",
      }),
    content: filledText(8000).meta({ ...REDACTED, description: "The message." }),
    attachments: attachmentIds(),
    author: teamMemberSchema.nullable().optional().meta({ description: "The member of the team who writes. Visitors see the name." }),
  })
  .superRefine(({ channel, to, user }, ctx) => {
    if (channel === "email" && !to) ctx.addIssue({ code: "custom", path: ["to"], params: { type: "missing" } });
    const other = channel === "email" ? "user" : "to";
    if (channel === "email" ? user : to) {
      addProblem(ctx, `leave it out on the channel ${channel}`, other);
    }
  })
  .openapi("ConversationIn", {
    example: {
      agent_id: "019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00",
      channel: "api",
      user: { id: "customer-4711", name: "Ann Lee", email: "ann@example.com" },
      subject: "Your order 4711",
      content: "Your parcel was damaged on its way. Shall we send another one, or pay the money back?",
    },
  });

const startRoute = createRoute({
  operationId: "startConversation",
  method: "post",
  path: "/conversations",
  summary: "Start a conversation as the team",
  description:
    "Sends the first message of a conversation, by mail from the agent's mailbox or over the API. Your team has the conversation until it is resolved or its status is set to open. Replies to the mail are added to the conversation.",
  ...needsScope("conversations:write"),
  request: { body: jsonBody(startInSchema) },
  responses: { 201: jsonResponse(transcriptSchema, "The conversation with its first message."), ...errorResponses(403, 404, 409, 422) },
});

conversationChangeRoutes.openapi(startRoute, async (c) => {
  const { agent_id: agentId, to, user, subject, content, attachments, author } = c.req.valid("json");
  const first: FirstMessage = {
    agentId,
    subject: subject ? toSingleLine(subject, subject.length) : toSingleLine(content, SUBJECT_LENGTH),
    content,
    author: authorOf(c, author),
    files: filesOf(attachments),
    to: to ? { channel: "email", email: to.email, name: to.name || null } : { channel: "api", user: user ? apiVisitor(user) : null },
  };
  const op = operationOf(c);
  const started = await startConversation(op, first, c.get("caller").workspace.limits);
  if (started.outcome === "agent_not_found") throw notFound("agent");
  if (started.outcome === "rate_limited") throw limitReached(started.full, op.nowMs);
  if (started.outcome === "unknown_files") throw unknownFiles(started.positions)!;
  if (started.outcome === "no_mailbox") throw new ApiError("conflict", "The agent has no mailbox. Give it an email_address first.");
  const { conversation, message, hours } = started;
  c.set("conversationId", conversation.id);
  return c.json(
    { ...conversation, messages: await withAddresses(c, [toMessage(message)]), has_more_messages: false, ...toOpening(hours, op.nowMs) },
    201,
  );
});

/** Returns the uploaded files that a message of the team takes; undefined if there are none. */
function filesOf(ids: string[] | null | undefined): TakenFiles | undefined {
  return ids?.length ? { ids, owners: [API_OWNER] } : undefined;
}

const updateConversation = createRoute({
  operationId: "updateConversation",
  method: "patch",
  path: "/conversations/{conversation_id}",
  summary: "Change a conversation's status, tags, assignee, team, priority or snooze",
  description: "Fields that are left out stay unchanged.",
  ...needsScope("conversations:write"),
  request: { params: conversationParams, body: jsonBody(conversationUpdateSchema) },
  responses: { 200: jsonResponse(conversationSchema, "The updated conversation."), ...errorResponses(403, 404, 409, 422) },
});

conversationChangeRoutes.openapi(updateConversation, async (c) => {
  const { conversation_id: conversationId } = c.req.valid("param");
  const { snoozed_until: snoozedUntil, team_id: teamId, ...changes } = c.req.valid("json");
  const op = { ...operationOf(c), conversationId };
  if (teamId || changes.assign) await requireTeam(op, c.req.valid("json"));
  const changed = await changeConversation(op, { ...changes, by: changerOf(c), snoozedUntil, teamId });
  if (!changed) throw notFound("conversation");
  if (changes.status) notifyVisitor(c.env, { ...changed, workspaceId: op.workspaceId });
  return c.json(changed, 200);
});

/**
 * Checks that a team exists and, if the conversation is to be assigned, that it has a team and is for humans.
 * @throws ApiError validation_error, conflict.
 */
async function requireTeam(op: ConversationOperation, { status, team_id: teamId, assign }: z.infer<typeof conversationUpdateSchema>) {
  const { db, workspaceId, conversationId } = op;
  const [[conversation], [team]] = await db.batch([
    findConversation(db, workspaceId, conversationId),
    findTeam(db, workspaceId, teamId ?? ""),
  ]);
  if (teamId && !team) throw unknownTeam();
  if (!assign || !conversation) return;
  if (!(teamId === undefined ? conversation.teamId : teamId))
    throw new ApiError("conflict", "The conversation has no team. Send a team_id as well.");
  if (!isForHumans(status ?? conversation.status))
    throw new ApiError("conflict", "The conversation is not with the team. Send the status needs_human as well.");
}

const replyToConversation = createRoute({
  operationId: "replyToConversation",
  method: "post",
  path: "/conversations/{conversation_id}/messages",
  summary: "Reply as a human on the team",
  description: "The agent then stays silent until the conversation is resolved or its status is set to open.",
  ...needsScope("conversations:write"),
  request: { params: conversationParams, body: jsonBody(replyInSchema) },
  responses: { 201: jsonResponse(replySchema, "The message, and the conversation's status."), ...errorResponses(403, 404, 422) },
});

conversationChangeRoutes.openapi(replyToConversation, async (c) => {
  const { conversation_id: conversationId } = c.req.valid("param");
  const { resolve, attachments, content, author } = c.req.valid("json");
  const text = toTeamText({ content, author: authorOf(c, author) }, c.get("caller").workspace.limits);
  const reply = { ...text, resolve, files: filesOf(attachments) };
  const replied = await replyAsHuman({ ...operationOf(c), conversationId }, reply);
  if (!replied) throw notFound("conversation");
  const { message, conversation } = replied;
  if (!message) throw unknownFiles(replied.unknownFiles) ?? noRoomFor("messages", replied.full);
  notifyVisitor(c.env, conversation);
  c.set("conversationId", conversationId);
  const [sent] = await withAddresses(c, [toMessage(message)]);
  return c.json({ ...sent!, conversation_status: conversation.status }, 201);
});
