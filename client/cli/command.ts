import { parseArgs } from "node:util";
import { explain, FailedError, UsageError } from "./errors.ts";
import { columns, note, print } from "./terminal.ts";

interface Option {
  type: "string" | "boolean";
  multiple?: true;
  /** The name of its value in the help. */
  value?: string;
  about: string;
}

type Options = Record<string, Option>;
type Given<One extends Option> = One["type"] extends "boolean" ? boolean : One["multiple"] extends true ? string[] : string;
type Values<Own extends Options> = { [Name in keyof Own]?: Given<Own[Name]> };

/** A parsed command line. */
interface Call<Own extends Options> {
  parameters: string[];
  options: Values<Own> & { json?: boolean };
}

export interface Command<Own extends Options = Options> {
  /** One or two words, such as "sources add". */
  name: string;
  about: string;
  /** Its parameters, as the usage shows them. */
  parameters: string;
  options: Own;
  /** Command lines that can be typed as they are. */
  examples: string[];
  run: (call: Call<Own>) => Promise<void>;
}

/** Defines a command, whose `run` gets options typed by their declaration. */
export function defineCommand<const Own extends Options>(command: Command<Own>): Command {
  return command as unknown as Command;
}

const COMMON = {
  json: { type: "boolean", about: "Prints records as JSON, one per line." },
  help: { type: "boolean", about: "Shows this help." },
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
    // Node appends a long explanation for an option that could be a parameter.
    throw new UsageError(`${(error as Error).message.split(". ")[0]!}.\nSee: support-agent ${command.name} --help`);
  }
}

function helpOf({ name, about, parameters, options, examples }: Command): string {
  const lines = Object.entries({ ...options, ...COMMON }).map(([option, { value, about: text }]: [string, Option]): [string, string] => [
    `--${option}${value ? ` ${value}` : ""}`,
    text,
  ]);
  const usage = ["support-agent", name, "[options]", parameters].filter(Boolean).join(" ");
  return `${about}\n\nUsage: ${usage}\n\nOptions:\n${columns(lines)}\n\nExamples:\n${examples.map((example) => `  ${example}\n`).join("")}`;
}

/** Returns the only parameter of a command. @throws UsageError if there is none, or more than one. */
export function onlyParameter(parameters: readonly string[], name: string): string {
  const [only, ...others] = parameters;
  if (only === undefined) throw new UsageError(`${name} is missing.`);
  if (others.length > 0) throw new UsageError(`There is more than ${name}: put a text with spaces in quotation marks.`);
  return only;
}

/**
 * Deletes a record for each id, and prints the ids.
 * @throws UsageError if there is none. @throws FailedError if one of several was refused; the others are deleted.
 */
export async function deleteEach(ids: readonly string[], name: string, deleteOne: (id: string) => Promise<unknown>): Promise<void> {
  if (ids.length === 0) throw new UsageError(`${name} is missing.`);
  let failures = 0;
  for (const id of ids) {
    try {
      await deleteOne(id);
      print(`${id}  deleted`);
    } catch (error) {
      if (ids.length === 1) throw error;
      note(`${id}: ${explain(error)}`);
      failures++;
    }
  }
  if (failures > 0) throw new FailedError(`${failures} of ${ids.length} failed.`);
}

/** Reads an option that takes one of a few words. */
export function choiceOf<const Word extends string>(option: string, given: string | undefined, words: readonly Word[]): Word | undefined {
  if (given === undefined) return undefined;
  const word = words.find((each) => each === given);
  if (word === undefined) throw new UsageError(`--${option} is one of ${words.join(", ")}.`);
  return word;
}

/** Reads an option that takes a whole number of at least 1. */
export function countOf(option: string, given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  if (!/^[1-9][0-9]{0,8}$/.test(given)) throw new UsageError(`--${option} is a whole number of at least 1.`);
  return Number(given);
}
