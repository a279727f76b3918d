import {
  auroc,
  calibrationError,
  isAnswerable,
  mean,
  ndcg,
  recall,
  reciprocalRank,
  refusedAt,
  type SupportData,
  type SupportTask,
  userTurns,
} from "./metrics.ts";
import { forEach, type Service, teach } from "./service.ts";

/** More than five, for a passage may be found in several pieces. */
const SEARCH_LIMIT = 20;
/** A search takes one query: a caller hands in the last turns, one a line, as the operation offers. */
const TURNS_SEARCHED = 3;

interface Outcome {
  task: SupportTask;
  /** Names of the sources found, best first, each once. */
  found: string[];
  confidence: number;
  isAnswered: boolean;
  /** Whether a citation is one of the relevant passages. */
  isRight: boolean;
}

interface Answer {
  conversation_id: string;
  confidence: number;
  needs_human: boolean;
  citations: { source_id: string }[];
}

/** Teaches an agent the passages, searches and asks every task, and gives what is printed. */
export async function measureSupport(service: Service, data: SupportData): Promise<[string, number | string][]> {
  const agentId = await service.createAgent("Support");
  const { names } = await teach(
    service,
    agentId,
    data.passages.map(({ id, text }) => ({ name: id, text })),
  );
  const outcomes = await forEach(data.tasks, (task) => run(service, agentId, task, names));
  return report(outcomes);
}

async function run({ call }: Service, agentId: string, task: SupportTask, names: ReadonlyMap<string, string>): Promise<Outcome> {
  const turns = userTurns(task);
  const query = turns.slice(-TURNS_SEARCHED).join("\n");
  const { data } = await call<{ data: { source_id: string }[] }>("POST", `/agents/${agentId}/search`, { query, limit: SEARCH_LIMIT }, 200);
  const nameOf = (hit: { source_id: string }): string => names.get(hit.source_id)!;
  let conversationId: string | undefined;
  let answer: Answer | undefined;
  for (const message of turns) {
    const continued = conversationId === undefined ? {} : { conversation_id: conversationId };
    // What a human has taken over is given back to the agent, as a team does, else it stays silent.
    if (answer?.needs_human) await call("PATCH", `/conversations/${conversationId}`, { status: "open" }, 200);
    answer = await call<Answer>("POST", `/agents/${agentId}/messages`, { message: message || "?", ...continued }, 200);
    conversationId = answer.conversation_id;
  }
  const { confidence, needs_human: needsHuman, citations } = answer!;
  const isRight = citations.some((citation) => task.relevant.includes(nameOf(citation)));
  return { task, found: [...new Set(data.map(nameOf))], confidence, isAnswered: !needsHuman, isRight };
}

function report(outcomes: readonly Outcome[]): [string, number | string][] {
  const answerable = outcomes.filter(({ task }) => isAnswerable(task) === true);
  const unanswerable = outcomes.filter(({ task }) => isAnswerable(task) === false);
  const judged = answerable.filter(({ task }) => task.relevant.length > 0);
  const meanOf = (measure: (found: string[], relevant: ReadonlySet<string>) => number): number =>
    mean(judged.map(({ found, task }) => measure(found, new Set(task.relevant))));
  const positives = answerable.map(({ confidence }) => confidence);
  const negatives = unanswerable.map(({ confidence }) => confidence);
  const answered = [...answerable, ...unanswerable].filter(({ isAnswered }) => isAnswered);
  return [
    ["nDCG@5", meanOf(ndcg)],
    ["MRR", meanOf(reciprocalRank)],
    ["recall@5", meanOf(recall)],
    ["AUROC of confidence, answerable against unanswerable", auroc(positives, negatives)],
    ["unanswerable refused where 90 % of the answerable are answered", refusedAt(0.9, positives, negatives)],
    ["unanswerable refused where 80 % of the answerable are answered", refusedAt(0.8, positives, negatives)],
    ["calibration error of all answers, a refusal being no right one", calibrationError([...answerable, ...unanswerable])],
    ["calibration error of what was answered", calibrationError(answered)],
    ["answered of the answerable, at the agent's own threshold", mean(answerable.map(({ isAnswered }) => Number(isAnswered)))],
    ["answered of the unanswerable", mean(unanswerable.map(({ isAnswered }) => Number(isAnswered)))],
    ["tasks, answerable and unanswerable", `${answerable.length} and ${unanswerable.length}`],
  ];
}
