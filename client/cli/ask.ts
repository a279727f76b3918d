import { createInterface } from "node:readline/promises";
import type { Client, Question, Schemas } from "../index.ts";
import { defineCommand, onlyParameter } from "./command.ts";
import { AGENT_OPTION, agentOf, connect } from "./environment.ts";
import { explain, UsageError } from "./errors.ts";
import { readInput } from "./input.ts";
import { note, print, printable, printRecord } from "./terminal.ts";

type Answer = Schemas["ChatAnswer"];

const OPTIONS = {
  agent: AGENT_OPTION,
  conversation: { type: "string", value: "ID", about: "Continues this conversation." },
  user: { type: "string", value: "ID", about: "Your own id of the person who asks." },
} as const;

export const ask = defineCommand({
  name: "ask",
  about: "Asks an agent a question, and prints the answer as it is written.",
  parameters: "QUESTION|-",
  options: OPTIONS,
  examples: [
    'support-agent ask "How are webhooks signed?"',
    'support-agent ask --json "Which plans include webhooks?" | jq -r .answer',
    "support-agent ask - < question.txt",
  ],
  run: async ({ parameters, options }) => {
    const given = onlyParameter(parameters, "QUESTION");
    const message = (given === "-" ? await readInput() : given).trim();
    if (message === "") throw new UsageError("The question is empty.");
    const client = connect();
    const question = { agent_id: await agentOf(client, options.agent), body: bodyOf(message, options) };
    if (options.json) printRecord(await client.askAgent(question));
    else note(`Conversation ${(await answer(client, question)).conversation_id}`);
  },
});

export const chat = defineCommand({
  name: "chat",
  about: "Talks with an agent in one conversation: one question per line, until Ctrl-D.",
  parameters: "",
  options: OPTIONS,
  examples: [
    "support-agent chat",
    "support-agent chat --user u-1",
    "support-agent chat --conversation 019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00",
  ],
  run: async ({ options }) => {
    const client = connect();
    const agent_id = await agentOf(client, options.agent);
    const isTyped = process.stdin.isTTY;
    if (isTyped) note(`You talk with ${(await client.getAgent({ agent_id })).name}. Ctrl-D ends it.`);
    const lines = createInterface({ input: process.stdin, terminal: isTyped, ...(isTyped && { output: process.stdout }) });
    let isClosed = false;
    lines.once("close", () => (isClosed = true));
    let conversation = options.conversation;
    if (isTyped) lines.prompt();
    for await (const line of lines) {
      if (line.trim() !== "") {
        const said = await sayInChat(client, { agent_id, body: bodyOf(line.trim(), { ...options, conversation }) }, options.json === true);
        conversation = said?.conversation_id ?? conversation;
      }
      if (isTyped && !isClosed) lines.prompt();
    }
    if (conversation) note(`${isTyped ? "\n" : ""}Conversation ${conversation}`);
  },
});

/** Asks one question of a chat. A failure ends the chat of a script, but not one that somebody types. */
async function sayInChat(client: Client, question: Question, isJson: boolean): Promise<Answer | undefined> {
  try {
    if (!isJson) return await answer(client, question);
    const said = await client.askAgent(question);
    printRecord(said);
    return said;
  } catch (error) {
    if (!process.stdin.isTTY) throw error;
    note(explain(error));
    return undefined;
  }
}

function bodyOf(message: string, { conversation, user }: { conversation?: string | undefined; user?: string | undefined }) {
  // Nothing here runs an agent's client tools.
  return { message, conversation_id: conversation ?? null, user: user === undefined ? null : { id: user }, client_tools: [] };
}

/** Asks a question, and prints the answer as it is written, with its sources. */
async function answer(client: Client, question: Question): Promise<Answer> {
  let written = "";
  for await (const event of client.streamAnswer(question)) {
    // The answer starts over, and what was printed no longer counts.
    if (event.type === "start" && written !== "") print("\n");
    if (event.type === "delta") process.stdout.write(printable(event.text));
    written = event.type === "start" ? "" : written + (event.type === "delta" ? event.text : "");
    if (event.type !== "done") continue;
    const { message_id: id, answer: text } = event.answer;
    if (id === null) note("A human has the conversation, so the agent says nothing. The team reads the message and replies.");
    else print(written === "" ? (text ?? "") : "");
    describe(event.answer);
    return event.answer;
  }
  throw new Error("The stream ended before the answer did.");
}

function describe({ citations, message_id: id, needs_human, handoff_reason }: Answer): void {
  const sources = new Set(citations.map(({ title, url }) => (url ? `${title} (${url})` : title)));
  if (sources.size > 0) print(`\nSources:\n${[...sources].map((source) => `- ${source}`).join("\n")}`);
  if (needs_human && id !== null) note(`It needs a human${handoff_reason ? `: ${handoff_reason}` : ""}.`);
}
