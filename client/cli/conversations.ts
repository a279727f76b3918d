import { basename } from "node:path";
import { type Client, paginate, type Schemas } from "../index.ts";
import { choiceOf, countOf, defineCommand, onlyParameter } from "./command.ts";
import { connect } from "./environment.ts";
import { UsageError } from "./errors.ts";
import { readInput, readNamedFile } from "./input.ts";
import { note, print, printRecord, printTable, timeText } from "./terminal.ts";

type Conversation = Schemas["Conversation"];
type Message = Schemas["ConversationWithMessages"]["messages"][number];

const STATUSES = ["open", "ai_handled", "needs_human", "human_active", "resolved"] as const;
const CHANNELS = ["widget", "hosted", "email", "api", "playground"] as const;
const DEFAULT_LIMIT = 20;
const LARGEST_PAGE = 100;

export const listConversations = defineCommand({
  name: "conversations ls",
  about: "Lists conversations, latest first.",
  parameters: "",
  options: {
    status: { type: "string", value: "STATUS", about: `Only with this status: ${STATUSES.join(", ")}.` },
    channel: { type: "string", value: "CHANNEL", about: `Only on this channel: ${CHANNELS.join(", ")}.` },
    agent: { type: "string", value: "ID", about: "Only of this agent." },
    q: { type: "string", value: "WORDS", about: "Only with these words in their messages." },
    limit: { type: "string", value: "N", about: `How many at most. Default: ${DEFAULT_LIMIT}.` },
  },
  examples: ["support-agent conversations ls --status needs_human", "support-agent conversations ls --q refund --limit 500 --json"],
  run: async ({ options }) => {
    const filter = {
      agent_id: options.agent,
      q: options.q,
      status: choiceOf("status", options.status, STATUSES),
      channel: choiceOf("channel", options.channel, CHANNELS),
    };
    const found = await take(connect(), filter, countOf("limit", options.limit) ?? DEFAULT_LIMIT);
    if (options.json) return found.forEach(printRecord);
    if (found.length === 0) return print("No conversations.");
    const rowOf = ({ id, status, channel, visitor, last_message_at, last_message_preview }: Conversation) => [
      id,
      status,
      channel,
      timeText(last_message_at),
      visitor?.name ?? visitor?.email ?? "",
      last_message_preview ?? "",
    ];
    printTable(["ID", "STATUS", "CHANNEL", "LAST MESSAGE", "VISITOR", "PREVIEW"], found.map(rowOf));
  },
});

async function take(client: Client, filter: Parameters<Client["listConversations"]>[0], limit: number): Promise<Conversation[]> {
  const found: Conversation[] = [];
  for await (const conversation of paginate(client.listConversations, { ...filter, limit: Math.min(limit, LARGEST_PAGE) })) {
    found.push(conversation);
    if (found.length === limit) break;
  }
  return found;
}

export const showConversation = defineCommand({
  name: "conversations show",
  about: "Shows a conversation with its messages and the team's notes.",
  parameters: "CONVERSATION_ID",
  options: {},
  examples: ["support-agent conversations show 019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00"],
  run: async ({ parameters, options }) => {
    const conversation = await connect().getConversation({ conversation_id: onlyParameter(parameters, "CONVERSATION_ID") });
    if (options.json) return printRecord(conversation);
    const { status, channel, visitor, handoff, tags, messages, has_more_messages } = conversation;
    const facts = {
      status,
      channel,
      visitor: visitor?.name ?? visitor?.email ?? visitor?.anon_id,
      "hand-off": handoff?.reason,
      tags: tags.join(", "),
    };
    for (const [name, fact] of Object.entries(facts)) if (fact) print(`${name}: ${fact}`);
    if (has_more_messages) note("Earlier messages are not shown.");
    for (const message of messages) print(["", headOf(message), message.content, ...message.attachments.map(fileText)].join("\n"));
  },
});

const ROLES: Record<Message["role"], string> = { user: "visitor", assistant: "agent", human: "team", system: "system", note: "note" };

function headOf({ role, author, created_at }: Message): string {
  return `${[ROLES[role], author.name].filter(Boolean).join(" ")}, ${timeText(created_at)}`;
}

function fileText({ name, url }: Message["attachments"][number]): string {
  return `[${name}] ${url}`;
}

export const replyToConversation = defineCommand({
  name: "conversations reply",
  about: "Replies to the visitor of a conversation as the team. The agent stops answering in it.",
  parameters: "CONVERSATION_ID TEXT|-",
  options: {
    resolve: { type: "boolean", about: "Also resolves the conversation." },
    file: { type: "string", multiple: true, value: "PATH", about: "A file that the reply carries. Repeat it for several, at most 5." },
  },
  examples: [
    'support-agent conversations reply 019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00 "It is on its way." --resolve',
    "support-agent conversations reply 019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00 - < reply.txt",
    'support-agent conversations reply 019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00 "Your invoice." --file invoice.pdf',
  ],
  run: async ({ parameters: [conversation_id, ...texts], options }) => {
    if (conversation_id === undefined) throw new UsageError("CONVERSATION_ID is missing. See: support-agent conversations ls");
    const text = onlyParameter(texts, "TEXT");
    const content = (text === "-" ? await readInput() : text).trim();
    if (content === "") throw new UsageError("The reply is empty.");
    const client = connect();
    const attachments: string[] = [];
    for (const path of options.file ?? []) {
      const file = new File([await readNamedFile(path, "Name a file.")], basename(path));
      attachments.push((await client.uploadAttachment({ body: { file } })).id);
    }
    const files = attachments.length > 0 && { attachments };
    const reply = await client.replyToConversation({ conversation_id, body: { content, resolve: options.resolve, ...files } });
    if (options.json) return printRecord(reply);
    print(`Replied. The conversation is ${reply.conversation_status}.`);
  },
});
