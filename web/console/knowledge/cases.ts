import { InputError, type Problem, type Schemas } from "../api.ts";
import { HANDOFF_WORDS } from "../inbox/words.tsx";
import { loadCode } from "../ui/lazy.tsx";

export type Case = Schemas["EvaluationIn"]["cases"][number];
export type Expectation = NonNullable<Case["expect"]>;
/** A case of a run, with its result. */
export type RunCase = Schemas["EvaluationResult"]["cases"][number];
export type SourceName = (sourceId: string) => string;

/** More evaluations than the service keeps for an agent. */
export const MAX_RUNS = 20;

/** The name of an evaluation. */
export function nameOf({ name, cases_count: count }: Schemas["Evaluation"]): string {
  return name ?? (count === 1 ? "1 case" : `${count} cases`);
}

/** The address of a run within the page Knowledge, or of its comparison with an earlier one. It names the agent, so that it can be sent to others. */
export function runPath({ id, agent_id: agentId }: Pick<Schemas["Evaluation"], "id" | "agent_id">, earlierId = ""): string {
  return `/agents/${agentId}/evaluations/${id}${earlierId && `/${earlierId}`}`;
}

/** The cases of a run, as the input of another one. */
export function casesOf({ cases }: Schemas["EvaluationResult"]): Case[] {
  return cases.map(({ question, previous, expect, turns, persona, tools }) => {
    const end = Object.keys(expect).length > 0 && { expect };
    if (turns) return { turns, ...end, tools: tools ?? {} };
    return persona ? { persona, ...end, tools: tools ?? {} } : { question, previous, expect };
  });
}

/** Whether a case is a conversation: it has fixed turns, or a persona. */
export function isConversation({ turns, persona }: RunCase): boolean {
  return turns !== null || persona !== null;
}

/** The title of a case: its question, its first message, or the goal of its persona. */
export function titleOf({ question, turns }: RunCase): string {
  return turns?.[0]?.visitor ?? question;
}

/** Identifies a case in several runs, as the service does. */
export function identityOf(one: RunCase): string {
  const { question, previous, persona, tools } = one;
  return JSON.stringify([...previous, question, isConversation(one) ? { persona, tools } : null]);
}

const ARROW = "=>";
const REFUSE = "refuse";
const SOURCE = "source:";

/**
 * Reads the cases of a text, one per line: `question => a text of the answer`, `question => refuse`, `question => source: its name`, or a
 * question alone, for which any answer is right.
 * @throws InputError that names the line and what is wrong with it.
 */
export function parseCases(text: string, sources: readonly { id: string; name: string }[]): Case[] {
  return text.split("\n").flatMap((line, at) => {
    if (line.trim() === "") return [];
    const [question = "", ...rest] = line.split(ARROW);
    if (question.trim() === "") throw new InputError(`Line ${at + 1} has no question.`, "cases");
    return [{ question: question.trim(), expect: expectOf(rest.join(ARROW).trim(), at + 1, sources) }];
  });
}

/** Moves a problem of a case to the text of the cases, and names its line there. */
export function atLine({ path, text: problem }: Problem, text: string): Problem {
  const [, at] = /^cases\.(\d+)\b/.exec(path) ?? [];
  if (at === undefined) return { path, text: problem };
  const lines = text.split("\n").flatMap((line, number) => (line.trim() === "" ? [] : [number + 1]));
  return { path: "cases", text: `Line ${lines[Number(at)]}: ${problem}` };
}

function expectOf(text: string, line: number, sources: readonly { id: string; name: string }[]): Expectation {
  if (text === "") return { refusal: false };
  if (text.toLowerCase() === REFUSE) return { refusal: true };
  if (!text.toLowerCase().startsWith(SOURCE)) return { answer_contains: text };
  const name = text.slice(SOURCE.length).trim();
  const source = sources.find((one) => one.name.toLowerCase() === name.toLowerCase());
  if (!source) throw new InputError(`Line ${line}: the agent has no source “${name}”.`, "cases");
  return { source_id: source.id };
}

/** Describes what a case expects of an answer. */
export function expectText(expect: Expectation, nameOf: SourceName): string {
  const { source_id: sourceId, answer_contains: contained, refusal, handoff_reason: reason } = expect;
  const { said = [], not_said: notSaid = [], tools_called: calls = [], criteria = [] } = expect;
  const parts = [
    reason && `Hands over: ${HANDOFF_WORDS[reason]}`,
    refusal === true && !reason && "Hands over",
    ...[...(contained === undefined ? [] : [contained]), ...said].map((text) => `“${text}”`),
    ...notSaid.map((text) => `not “${text}”`),
    sourceId && `from ${nameOf(sourceId)}`,
    ...calls.map(({ name }) => `calls ${name}`),
    ...criteria,
  ].filter(Boolean);
  return parts.length > 0 ? parts.join(", ") : "Any answer";
}

/** Turns a CSV file into lines of cases, from its columns "question" and "expected" or, without these names, its first two columns. */
export async function linesOfCsv(file: File): Promise<string> {
  // The parser is loaded with the first file, since few users read one.
  const { default: csv } = await loadCode(() => import("papaparse"));
  const rows = csv
    .parse<string[]>(await file.text(), { skipEmptyLines: "greedy" })
    .data.map((row) => row.map((cell) => cell.replaceAll(/\s+/g, " ").trim()));
  const heads = rows[0]?.map((head) => head.toLowerCase()) ?? [];
  const [asked, expected] = [heads.indexOf("question"), heads.findIndex((head) => head.startsWith("expect"))];
  const [question, expect] = asked < 0 ? [0, 1] : [asked, expected];
  return rows
    .slice(asked < 0 ? 0 : 1)
    .map((row) => (row[expect] ? `${row[question]} ${ARROW} ${row[expect]}` : row[question]))
    .join("\n");
}
