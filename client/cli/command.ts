import { parseArgs } from "node:util";
import { type Client, createClient } from "../index.ts";
import { note } from "./terminal.ts";

interface Option {
  type: "string" | "boolean";
  multiple?: true;
  /** What help calls its value. */
  value?: string;
  about: string;
}

type Options = Record<string, Option>;
type Given<One extends Option> = One["type"] extends "boolean" ? boolean : One["multiple"] extends true ? string[] : string;
type Values<Own extends Options> = { [Name in keyof Own]?: Given<Own[Name]> };

/** A command line, parsed. */
interface Call<Own extends Options> {
  parameters: string[];
  options: Values<Own> & { json?: boolean };
  /** A client of the workspace that the environment names. */
  connect: () => Client;
}

/** A command: what help says of it, and what it does. */
export interface Command<Own extends Options = Options> {
  /** "sources add". */
  name: string;
  about: string;
  /** Its parameters, as the usage shows them. */
  parameters: string;
  options: Own;
  /** Command lines that can be typed as they are. */
  examples: string[];
  run: (call: Call<Own>) => Promise<void>;
}

/** A command whose options are typed by their declaration. */
export function defineCommand<const Own extends Options>(command: Command<Own>): Command {
  return command as unknown as Command;
}

/** A command line, or an environment, that cannot be used. */
export class UsageError extends Error {}

/** What was asked for did not come about, although the service answered. */
export class FailedError extends Error {}

/** The option of every command that is about one agent. */
export const AGENT_OPTION = {
  type: "string",
  value: "ID",
  about: "The agent. Default: $SUPPORT_AGENT, or the only one of the workspace.",
} as const;

const COMMON = {
  json: { type: "boolean", about: "Writes records as JSON, one a line." },
  help: { type: "boolean", about: "Shows this." },
} as const satisfies Options;

/** Runs a command with the arguments that follow its name. */
export async function runCommand(command: Command, args: string[]): Promise<void> {
  const { values, positionals } = parse(command, args);
  if (values["help"]) process.stdout.write(helpOf(command));
  else await command.run({ parameters: positionals, options: values as Values<Options>, connect });
}

function parse(command: Command, args: string[]) {
  try {
    return parseArgs({ args, options: { ...command.options, ...COMMON }, allowPositionals: true });
  } catch (error) {
    // Node explains what to do about an option that could be a parameter, at length.
    throw new UsageError(`${(error as Error).message.split(". ")[0]!}.\nSee: support-agent ${command.name} --help`);
  }
}

const GAP = 2;

/** The help of a command. */
function helpOf({ name, about, parameters, options, examples }: Command): string {
  const lines = Object.entries({ ...options, ...COMMON }).map(([option, { value, about: text }]: [string, Option]): [string, string] => [
    `--${option}${value ? ` ${value}` : ""}`,
    text,
  ]);
  const usage = ["support-agent", name, "[options]", parameters].filter(Boolean).join(" ");
  return `${about}\n\nUsage: ${usage}\n\nOptions:\n${columns(lines)}\n\nExamples:\n${examples.map((example) => `  ${example}\n`).join("")}`;
}

/** Two columns, indented. */
export function columns(lines: readonly [left: string, right: string][]): string {
  const width = Math.max(...lines.map(([left]) => left.length)) + GAP;
  return lines.map(([left, right]) => `  ${left.padEnd(width)}${right}`).join("\n");
}

/** The one parameter of a command. */
export function onlyParameter(parameters: readonly string[], name: string): string {
  const [only, ...others] = parameters;
  if (only === undefined) throw new UsageError(`${name} is missing.`);
  if (others.length > 0) throw new UsageError(`There is more than ${name}: put a text with spaces in quotation marks.`);
  return only;
}

/** Reads one of a few words. */
export function choiceOf<const Word extends string>(option: string, given: string | undefined, words: readonly Word[]): Word | undefined {
  if (given === undefined) return undefined;
  const word = words.find((each) => each === given);
  if (word === undefined) throw new UsageError(`--${option} is one of ${words.join(", ")}.`);
  return word;
}

/** Reads a whole number of at least 1. */
export function countOf(option: string, given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  if (!/^[1-9][0-9]{0,8}$/.test(given)) throw new UsageError(`--${option} is a whole number of at least 1.`);
  return Number(given);
}

/** The API key of the environment. */
export function apiKeyOf(): string {
  const apiKey = process.env["SUPPORT_KEY"]?.trim();
  if (!apiKey) {
    throw new UsageError(
      "SUPPORT_KEY is not set. Make an API key in the console, under Settings, and run: export SUPPORT_KEY=sk_live_…\nOf a service on this machine, npm run dev prints the line to paste.",
    );
  }
  return apiKey;
}

/** The address of the service, from the environment. */
function addressOf(): string {
  const url = process.env["SUPPORT_URL"]?.trim();
  if (!url)
    throw new UsageError(
      "SUPPORT_URL is not set. Run: export SUPPORT_URL=https://support.example.com\nA service on this machine is at http://localhost:8787.",
    );
  if (!/^https?:\/\/[^/\s]+\/?$/.test(url))
    throw new UsageError(`SUPPORT_URL is ${url}, which is not an address such as https://support.example.com: a host without a path.`);
  return url;
}

/** Waits that are shorter are not worth a word. */
const SILENT_WAIT_MS = 3_000;

function connect(): Client {
  return createClient({
    baseUrl: addressOf(),
    apiKey: apiKeyOf(),
    wait: async (ms) => {
      if (ms >= SILENT_WAIT_MS) note(`The service asks to wait ${ms / 1000} s.`);
      await new Promise((resolve) => setTimeout(resolve, ms));
    },
  });
}

/** The agent that a command is about. */
export async function agentOf(client: Client, given: string | undefined): Promise<string> {
  const named = given ?? process.env["SUPPORT_AGENT"]?.trim();
  if (named) return named;
  const { data, total } = await client.listAgents({ limit: 20 });
  if (data.length === 1) return data[0]!.id;
  if (total === 0) throw new UsageError("The workspace has no agent. Make one in the console, or with POST /api/v1/agents.");
  throw new UsageError(`Choose an agent with --agent or SUPPORT_AGENT:\n${columns(data.map(({ id, name }) => [id, name]))}`);
}
