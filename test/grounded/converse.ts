import { env } from "cloudflare:workers";
import type { ModelLimits } from "../../src/models/limits.ts";
import { HandoffError, type ModelRequest } from "../../src/models/model.ts";
import { modelFor } from "../../src/grounded/engine.ts";
import { load, newIndex } from "../knowledge/agent-index.ts";
import { type ChatRequest, OpenAiStandIn, type Script } from "../stand-ins/openai.ts";

/** Long enough for a busy machine; a test that waits for a timeout sets a shorter one. */
export const LIMITS: ModelLimits = {
  firstTokenMs: 5_000,
  idleMs: 5_000,
  answerMs: 20_000,
  toolMs: 5_000,
  retryDelayMs: 1,
  maxRetryAfterMs: 1_500,
};

const SERVER = { OPENAI_BASE_URL: "http://stand-in.test/v1", OPENAI_MODEL: "answer", OPENAI_API_KEY: "sk-stand-in" };

export const TEXTS = {
  billing: "# Refunds\n\nRefunds are paid within five working days. See https://acme.test/refunds for the form.",
  shipping: "# Parcels\n\nParcels leave the warehouse every evening at six.",
};

/** A reply, read to its end. */
export interface Talk {
  outcome: string;
  reason: string | undefined;
  confidence: number;
  deltas: string[];
  text: string;
  /** Source ids. */
  cited: string[];
  /** Why the text broke off: the reason of a hand-off, or "fault". */
  brokenBy: string | undefined;
  requests: ChatRequest[];
  keys: (string | null)[];
}

/** Asks a model that follows the script. Errors before the first token are thrown. */
export async function converse(
  script: Script | ((request: ChatRequest, count: number) => Script),
  {
    limits = {},
    texts = TEXTS,
    baseUrl = SERVER.OPENAI_BASE_URL,
    ...changes
  }: Partial<ModelRequest> & { limits?: Partial<ModelLimits>; texts?: Record<string, string>; baseUrl?: string } = {},
): Promise<Talk> {
  const standIn = new OpenAiStandIn(typeof script === "function" ? script : () => script);
  const model = modelFor({ ...env, ...SERVER, OPENAI_BASE_URL: baseUrl } as unknown as Env, {
    fetch: standIn.fetch,
    limits: { ...LIMITS, ...limits },
  });
  const reply = await model.answer(await requestOf(texts, changes));
  const talk: Talk = {
    outcome: reply.outcome,
    reason: reply.outcome === "handed_off" ? reply.reason : undefined,
    confidence: reply.confidence,
    deltas: [],
    text: "",
    cited: [],
    brokenBy: undefined,
    requests: standIn.requests,
    keys: standIn.keys,
  };
  if (reply.outcome !== "answered") return talk;
  try {
    for await (const delta of reply.text) talk.deltas.push(delta);
  } catch (error) {
    talk.brokenBy = error instanceof HandoffError ? error.reason : "fault";
  }
  return { ...talk, confidence: reply.confidence, text: talk.deltas.join(""), cited: reply.cited.map(({ sourceId }) => sourceId) };
}

/** A request to a model, with what retrieval finds in these texts. */
export async function requestOf(texts: Record<string, string>, changes: Partial<ModelRequest> = {}): Promise<ModelRequest> {
  const { question = "When are refunds paid?", ...rest } = changes;
  const index = newIndex();
  await load(index, texts);
  const retrieval = await index.search({ question, previousQuestions: [], limit: 5 });
  return {
    question,
    retrieval,
    instructions: null,
    language: "en",
    agentName: "Ada",
    welcomeMessage: "Hello!",
    modelName: null,
    history: [],
    tools: [],
    ...rest,
  };
}
