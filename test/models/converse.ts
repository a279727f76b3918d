import { env } from "cloudflare:workers";
import { engineFor } from "../../src/models/engine.ts";
import type { ModelLimits } from "../../src/models/limits.ts";
import { HandedOff, type ModelRequest } from "../../src/models/model.ts";
import { load, newIndex } from "../knowledge/agent-index.ts";
import { type ChatRequest, OpenAiStandIn, type Script } from "../stand-ins/openai.ts";

/** Time enough for a busy machine, where a test does not wait for its end. */
export const LIMITS: ModelLimits = {
  firstTokenMs: 5_000,
  idleMs: 5_000,
  answerMs: 20_000,
  toolMs: 5_000,
  retryPauseMs: 1,
  maxRetryAfterMs: 1_500,
};

const SERVER = { OPENAI_BASE_URL: "http://stand-in.test/v1", OPENAI_MODEL: "answer", OPENAI_API_KEY: "sk-stand-in" };

export const TEXTS = {
  billing: "# Refunds\n\nRefunds are paid within five working days. See https://acme.test/refunds for the form.",
  shipping: "# Parcels\n\nParcels leave the warehouse every evening at six.",
};

/** What came of a question. */
export interface Talk {
  outcome: string;
  reason: string | undefined;
  confidence: number;
  pieces: string[];
  text: string;
  /** The sources of what is cited. */
  cited: string[];
  /** Why it broke off in the middle, if it did. */
  broke: string | undefined;
  requests: ChatRequest[];
  keys: (string | null)[];
}

/** Asks a model that does what the script says. What it throws before its first word comes through. */
export async function converse(
  script: Script | ((request: ChatRequest, count: number) => Script),
  {
    limits = {},
    texts = TEXTS,
    ...changes
  }: Partial<ModelRequest> & { limits?: Partial<ModelLimits>; texts?: Record<string, string> } = {},
): Promise<Talk> {
  const standIn = new OpenAiStandIn(typeof script === "function" ? script : () => script);
  const model = engineFor({ ...env, ...SERVER } as unknown as Env, {
    fetch: standIn.fetch,
    limits: { ...LIMITS, ...limits },
  });
  const opening = await model.answer(await requestOf(texts, changes));
  const talk: Talk = {
    outcome: opening.outcome,
    reason: opening.outcome === "handed_off" ? opening.reason : undefined,
    confidence: opening.confidence,
    pieces: [],
    text: "",
    cited: [],
    broke: undefined,
    requests: standIn.requests,
    keys: standIn.keys,
  };
  if (opening.outcome !== "answered") return talk;
  try {
    for await (const piece of opening.text) talk.pieces.push(piece);
  } catch (error) {
    talk.broke = error instanceof HandedOff ? error.reason : "fault";
  }
  return { ...talk, text: talk.pieces.join(""), cited: opening.cited.map(({ sourceId }) => sourceId) };
}

/** A request as a turn makes it, from these texts. */
export async function requestOf(texts: Record<string, string>, changes: Partial<ModelRequest> = {}): Promise<ModelRequest> {
  const { question = "When are refunds paid?", ...rest } = changes;
  const index = newIndex();
  await load(index, texts);
  const retrieval = await index.search({ question, previousQuestions: [], limit: 5 });
  return {
    question,
    previousQuestions: [],
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
