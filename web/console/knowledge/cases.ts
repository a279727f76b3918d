import type { Schemas } from "../api.ts";

export type Case = Schemas["EvaluationIn"]["cases"][number];

/** The cases of a run, as another one takes them. */
export function casesOf({ cases }: Schemas["EvaluationResult"]): Case[] {
  return cases.map(({ question, previous, expect }) => ({ question, previous, expect }));
}

const ARROW = "=>";
const REFUSE = "refuse";
const SOURCE = "source:";

/**
 * The cases of a text, one a line: `question => what the answer says`, `=> refuse`, `=> source: its name`, or a question alone, which
 * any answer will do for.
 * @throws Error that says what is wrong with which line.
 */
export function parseCases(text: string, sources: readonly { id: string; name: string }[]): Case[] {
  return text.split("\n").flatMap((line, at) => {
    if (line.trim() === "") return [];
    const [question = "", ...rest] = line.split(ARROW);
    if (question.trim() === "") throw new Error(`Line ${at + 1} has no question.`);
    return [{ question: question.trim(), expect: expectOf(rest.join(ARROW).trim(), at + 1, sources) }];
  });
}

function expectOf(text: string, line: number, sources: readonly { id: string; name: string }[]): Case["expect"] {
  if (text === "") return { refusal: false };
  if (text.toLowerCase() === REFUSE) return { refusal: true };
  if (!text.toLowerCase().startsWith(SOURCE)) return { answer_contains: text };
  const name = text.slice(SOURCE.length).trim();
  const source = sources.find((one) => one.name.toLowerCase() === name.toLowerCase());
  if (!source) throw new Error(`Line ${line}: the agent has no source “${name}”.`);
  return { source_id: source.id };
}

/** What is expected, in words. */
export function expectText(
  { source_id: sourceId, answer_contains: contained, refusal }: Case["expect"],
  nameOf: (sourceId: string) => string,
): string {
  if (refusal === true) return "Hands over";
  const parts = [contained && `“${contained}”`, sourceId && `from ${nameOf(sourceId)}`].filter(Boolean);
  return parts.length > 0 ? parts.join(", ") : "Any answer";
}

/** The lines of a CSV file with the columns question and expected; without these names, its first two. */
export async function linesOfCsv(file: File): Promise<string> {
  // Few read a file: its parser is loaded with the first one.
  const { default: csv } = await import("papaparse");
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
