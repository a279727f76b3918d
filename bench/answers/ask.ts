import { ndcg } from "./metrics.ts";
import type { Kind, Question, QuestionSet } from "./questions.ts";
import { forEach, type Service, teach } from "./service.ts";

/** More than five, for a text may be found in several pieces. */
const SEARCH_LIMIT = 20;
/** A search takes one query: a caller hands in the last messages, one a line, as the operation offers. */
const MESSAGES_SEARCHED = 3;

/** What became of a question. */
export interface Outcome {
  id: string;
  set: string;
  group: string;
  language: string;
  kind: Kind;
  /** nDCG@5 of a search where all relevant texts are known, else 1 where the first result is right; null of what has none. */
  retrieval: number | null;
  /** `refused`: handed to a human. */
  result: "right" | "wrong" | "refused";
  confidence: number;
  /** What tells answerable questions from others: the confidence; of curated answers, whose questions differ, the best score. */
  certainty: number;
}

interface Answer {
  answer: string;
  conversation_id: string;
  confidence: number;
  needs_human: boolean;
  handoff_reason: string | null;
  citations: { source_id: string }[];
}

interface Hit {
  source_id: string;
  content: string;
  score: number;
}

/** Teaches an agent of its own what a set knows, and puts all questions. */
export async function askAll(service: Service, set: QuestionSet): Promise<Outcome[]> {
  const agentId = await service.createAgent(set.name, set.language);
  const { names } = await teach(service, agentId, set.texts);
  await forEach(set.pairs, (pair) => service.call("POST", `/agents/${agentId}/answers`, pair, 201));
  const { name, group, language } = set;
  return forEach(set.questions, async (question) => {
    const hits = await search(service, agentId, question);
    const answer = await ask(service, agentId, question);
    const nameOf = (from: { source_id: string }): string => names.get(from.source_id) ?? "";
    return {
      id: question.id,
      set: name,
      group,
      language,
      kind: question.kind,
      retrieval: retrieval(question, hits, nameOf),
      result: result(question, answer, answer.citations.map(nameOf)),
      confidence: answer.confidence,
      certainty: set.pairs.length > 0 ? (hits[0]?.score ?? 0) : answer.confidence,
    };
  });
}

async function search({ call }: Service, agentId: string, { messages }: Question): Promise<Hit[]> {
  const body = { query: messages.slice(-MESSAGES_SEARCHED).join("\n"), limit: SEARCH_LIMIT };
  return (await call<{ data: Hit[] }>("POST", `/agents/${agentId}/search`, body, 200)).data;
}

/** The answer to the last message, after the others in the same conversation. */
async function ask({ call }: Service, agentId: string, { messages }: Question): Promise<Answer> {
  let answer: Answer | undefined;
  for (const message of messages) {
    const continued = answer === undefined ? {} : { conversation_id: answer.conversation_id };
    answer = await call<Answer>("POST", `/agents/${agentId}/messages`, { message, ...continued }, 200);
  }
  return answer!;
}

function retrieval({ kind, isRight, relevant }: Question, hits: readonly Hit[], nameOf: (hit: Hit) => string): number | null {
  if (kind !== "answer" && kind !== "follow") return null;
  if (relevant) return ndcg([...new Set(hits.map(nameOf))], relevant);
  const [first] = hits;
  return first && isRight({ text: first.content, sources: [nameOf(first)] }) ? 1 : 0;
}

function result({ kind, isRight }: Question, given: Answer, sources: readonly string[]): Outcome["result"] {
  if (kind === "human" && given.handoff_reason === "customer_request") return "right";
  if (given.needs_human) return "refused";
  return kind !== "human" && kind !== "miss" && isRight({ text: given.answer, sources }) ? "right" : "wrong";
}
