import { parseArgs } from "node:util";
import { UsageError } from "./errors.ts";
import { columns } from "./terminal.ts";

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

const COMMON = {
  json: { type: "boolean", about: "Writes records as JSON, one a line." },
  help: { type: "boolean", about: "Shows this." },
} as const satisfies Options;

/** Runs a command with the arguments that follow its name. */
export async function runCommand(command: Command, args: string[]): Promise<void> {
  const { values, positionals } = parse(command, args);
  if (values["help"]) return void process.stdout.write(helpOf(command));
  if (command.parameters === "" && positionals.length > 0)
    throw new UsageError(`${command.name} takes no parameter, such as ${positionals[0]!}.\nSee: support-agent ${command.name} --help`);
  await command.run({ parameters: positionals, options: values as Values<Options> });
}

function parse(command: Command, args: string[]) {
  try {
    return parseArgs({ args, options: { ...command.options, ...COMMON }, allowPositionals: true });
  } catch (error) {
    // Node explains what to do about an option that could be a parameter, at length.
    throw new UsageError(`${(error as Error).message.split(". ")[0]!}.\nSee: support-agent ${command.name} --help`);
  }
}

/** The help of a command. */
function helpOf({ name, about, parameters, options, examples }: Command): string {
  const lines = Object.entries({ ...options, ...COMMON }).map(([option, { value, about: text }]: [string, Option]): [string, string] => [
    `--${option}${value ? ` ${value}` : ""}`,
    text,
  ]);
  const usage = ["support-agent", name, "[options]", parameters].filter(Boolean).join(" ");
  return `${about}\n\nUsage: ${usage}\n\nOptions:\n${columns(lines)}\n\nExamples:\n${examples.map((example) => `  ${example}\n`).join("")}`;
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
