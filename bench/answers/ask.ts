import { setTimeout as sleep } from "node:timers/promises";
import { forEach } from "../measure.ts";
import { addTexts, type Tenant } from "../tenant.ts";
import { ndcg } from "./metrics.ts";
import type { Kind, Question, QuestionSet } from "./questions.ts";

/** The limit is above five results, because several of them may be pieces of one text. */
const SEARCH_LIMIT = 20;
/** How many of the last messages a search gets, one a line. */
const MESSAGES_SEARCHED = 3;
const QUOTED_LENGTH = 300;
const MAX_WAITS = 300;
/** Texts in other languages get no vectors. */
const ENCODED_LANGUAGE = "en";
/** In this time, the curated questions of a set get their vectors, which the API does not show. */
const QUESTIONS_ENCODED_MS = 30_000;

/** The result of a question. */
export interface Outcome {
  id: string;
  set: string;
  group: string;
  language: string;
  kind: Kind;
  /** nDCG@5 of a search where all relevant texts are known, else 1 where the first result is right; null if no result is right. */
  retrieval: number | null;
  /** `refused` where the question is handed to a human. */
  result: "right" | "wrong" | "refused";
  confidence: number;
  /** The figure that tells answerable questions from others: the confidence, or the best score where the answers are curated. */
  certainty: number;
}

interface Answer {
  answer: string;
  conversation_id: string;
  message_id: string;
  confidence: number;
  needs_human: boolean;
  handoff_reason: string | null;
  citations: { source_id: string }[];
}

/** The part of a trace that is read. */
interface Trace {
  searches: { passages: { scores: { semantic: number | null } }[] }[];
}

interface Hit {
  source_id: string;
  content: string;
  score: number;
}

/** Gives an agent of its own the texts of a set, and asks all questions. */
export async function askAll(tenant: Tenant, set: QuestionSet): Promise<Outcome[]> {
  const agentId = await tenant.createAgent({ name: set.name, language: set.language });
  const sources = await addTexts(tenant, agentId, set.texts);
  if (set.language === ENCODED_LANGUAGE) await waitForVectors(tenant, agentId, set);
  const texts = new Map(sources.map(({ id }, at) => [id, set.texts[at]!.id]));
  await forEach(set.pairs, (pair) => tenant.call("POST", `/agents/${agentId}/answers`, pair));
  if (set.pairs.length > 0) await sleep(QUESTIONS_ENCODED_MS);
  const { name, group, language } = set;
  return forEach(set.questions, async (question) => {
    const hits = await search(tenant, agentId, question);
    const answer = await ask(tenant, agentId, question);
    const textOf = (from: { source_id: string }): string => texts.get(from.source_id) ?? "";
    return {
      id: question.id,
      set: name,
      group,
      language,
      kind: question.kind,
      retrieval: retrieval(question, hits, textOf),
      result: result(question, answer, answer.citations.map(textOf)),
      confidence: answer.confidence,
      certainty: set.pairs.length > 0 ? (hits[0]?.score ?? 0) : answer.confidence,
    };
  });
}

/** Waits until the text that was added last is found by its meaning too: the vectors of texts are computed in their order. */
async function waitForVectors(tenant: Tenant, agentId: string, { name, texts }: QuestionSet): Promise<void> {
  const last = texts.at(-1)?.text.slice(0, QUOTED_LENGTH);
  for (let waits = 0; last !== undefined; waits++) {
    const { conversation_id: id, message_id: messageId } = await tenant.call<Answer>("POST", `/agents/${agentId}/messages`, {
      message: last,
    });
    const trace = await tenant.call<Trace>("GET", `/conversations/${id}/messages/${messageId}/trace`);
    const passages = trace.searches.flatMap((search) => search.passages);
    if (passages.length > 0 && passages.every(({ scores }) => scores.semantic !== null)) return;
    if (waits === MAX_WAITS) throw new Error(`The vectors of ${name} were not computed within ${MAX_WAITS} s`);
    await sleep(1_000);
  }
}

async function search({ call }: Tenant, agentId: string, { messages }: Question): Promise<Hit[]> {
  const body = { query: messages.slice(-MESSAGES_SEARCHED).join("\n"), limit: SEARCH_LIMIT };
  return (await call<{ data: Hit[] }>("POST", `/agents/${agentId}/search`, body)).data;
}

/** Returns the answer to the last message, after the others in the same conversation. */
async function ask({ call }: Tenant, agentId: string, { messages }: Question): Promise<Answer> {
  let answer: Answer | undefined;
  for (const message of messages) {
    const continued = answer === undefined ? {} : { conversation_id: answer.conversation_id };
    answer = await call<Answer>("POST", `/agents/${agentId}/messages`, { message, ...continued });
  }
  return answer!;
}

function retrieval({ kind, isRight, relevant }: Question, hits: readonly Hit[], textOf: (hit: Hit) => string): number | null {
  if (kind !== "answer" && kind !== "follow") return null;
  if (relevant) return ndcg([...new Set(hits.map(textOf))], relevant);
  const [first] = hits;
  return first && isRight({ text: first.content, sources: [textOf(first)] }) ? 1 : 0;
}

function result({ kind, isRight }: Question, given: Answer, sources: readonly string[]): Outcome["result"] {
  if (kind === "human" && given.handoff_reason === "customer_request") return "right";
  if (given.needs_human) return "refused";
  return kind !== "human" && kind !== "miss" && isRight({ text: given.answer, sources }) ? "right" : "wrong";
}
