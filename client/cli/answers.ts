import { paginate, type Schemas } from "../index.ts";
import { defineCommand, deleteEach } from "./command.ts";
import { AGENT_OPTION, agentOf, connect } from "./environment.ts";
import { UsageError } from "./errors.ts";
import { readInput } from "./input.ts";
import { print, printRecord, printTable } from "./terminal.ts";

export const addAnswer = defineCommand({
  name: "answers add",
  about: "Adds a curated answer: the agent gives it word for word when a question matches.",
  parameters: "QUESTION ANSWER|-",
  options: { agent: AGENT_OPTION },
  examples: [
    'support-agent answers add "Do you ship to Iceland?" "Yes: six working days, for 12 euros."',
    'support-agent answers add "Do you ship to Iceland?" - < iceland.txt',
  ],
  run: async ({ parameters: [question, given, ...others], options }) => {
    if (question === undefined || given === undefined) throw new UsageError("Name a QUESTION and its ANSWER, or - for what is piped in.");
    if (others.length > 0) throw new UsageError("There is more than QUESTION and ANSWER: put a text with spaces in quotation marks.");
    const answer = (given === "-" ? await readInput() : given).trim();
    const client = connect();
    const added = await client.createAnswer({ agent_id: await agentOf(client, options.agent), body: { question, answer } });
    if (options.json) printRecord(added);
    else print(`${added.id}  ${added.question}`);
  },
});

export const listAnswers = defineCommand({
  name: "answers ls",
  about: "Lists the curated answers of an agent, oldest first.",
  parameters: "",
  options: { agent: AGENT_OPTION },
  examples: ["support-agent answers ls", "support-agent answers ls --json > answers.jsonl"],
  run: async ({ options }) => {
    const client = connect();
    const found: Schemas["Answer"][] = [];
    for await (const answer of paginate(client.listAnswers, { agent_id: await agentOf(client, options.agent) })) found.push(answer);
    if (options.json) return found.forEach(printRecord);
    if (found.length === 0) return print("No curated answers yet.");
    printTable(
      ["ID", "QUESTION", "ANSWER"],
      found.map(({ id, question, answer }) => [id, question, answer]),
    );
  },
});

export const removeAnswers = defineCommand({
  name: "answers rm",
  about: "Deletes curated answers.",
  parameters: "ANSWER_ID ...",
  options: { agent: AGENT_OPTION },
  examples: ["support-agent answers rm 019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00"],
  run: async ({ parameters, options }) => {
    const client = connect();
    const agent_id = await agentOf(client, options.agent);
    await deleteEach(parameters, "ANSWER_ID", (answer_id) => client.deleteAnswer({ agent_id, answer_id }));
  },
});
