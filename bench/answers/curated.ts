import { auroc, type CuratedData, mean } from "./metrics.ts";
import { forEach, type Service } from "./service.ts";

/** Enough for the third answer to be seen. */
const SEARCH_LIMIT = 10;

interface Outcome {
  intent: string | null;
  /** Intents of the curated answers found, best first. */
  found: string[];
  score: number;
  /** The intent whose answer the agent gave word for word. */
  given: string | undefined;
}

interface Answer {
  answer: string;
  citations: { type: string }[];
}

/** Teaches an agent the pairs, puts every query, and gives what is printed. */
export async function measureCurated(service: Service, data: CuratedData): Promise<[string, number | string][]> {
  const agentId = await service.createAgent("Curated");
  const pairs = data.answers.flatMap(({ intent, questions }) => questions.map((question) => ({ question, answer: intent })));
  await forEach(pairs, (pair) => service.call("POST", `/agents/${agentId}/answers`, pair, 201));
  return report(await forEach(data.queries, ({ text, intent }) => run(service, agentId, text, intent)));
}

async function run({ call }: Service, agentId: string, query: string, intent: string | null): Promise<Outcome> {
  const body = { query, limit: SEARCH_LIMIT };
  const { data } = await call<{ data: { type: string; content: string; score: number }[] }>("POST", `/agents/${agentId}/search`, body, 200);
  const { answer, citations } = await call<Answer>("POST", `/agents/${agentId}/messages`, { message: query }, 200);
  const answers = data.filter(({ type }) => type === "answer");
  const given = citations[0]?.type === "answer" ? answer : undefined;
  return { intent, found: answers.map(({ content }) => content), score: answers[0]?.score ?? 0, given };
}

function report(outcomes: readonly Outcome[]): [string, number | string][] {
  const known = outcomes.filter(({ intent }) => intent !== null);
  const others = outcomes.filter(({ intent }) => intent === null);
  const share = (all: readonly Outcome[], is: (outcome: Outcome) => boolean): number => mean(all.map((outcome) => Number(is(outcome))));
  const scores = (all: readonly Outcome[]): number[] => all.map(({ score }) => score);
  const given = known.filter((outcome) => outcome.given !== undefined);
  return [
    ["accuracy@1", share(known, ({ found, intent }) => found[0] === intent)],
    ["accuracy@3", share(known, ({ found, intent }) => found.slice(0, 3).includes(intent!))],
    ["AUROC of score, known against out of scope", auroc(scores(known), scores(others))],
    ["known that were answered word for word", given.length / known.length],
    ["right of these", share(given, (outcome) => outcome.given === outcome.intent)],
    ["out of scope that were answered word for word", share(others, (outcome) => outcome.given !== undefined)],
    ["queries, known and out of scope", `${known.length} and ${others.length}`],
  ];
}
