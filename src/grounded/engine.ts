import { ExtractiveEngine } from "../extractive/engine.ts";
import type { ChatModel } from "../models/chat-model.ts";
import { openAiModel, workersAiModel } from "../models/chat-servers.ts";
import { LOCAL_MODEL_LIMITS, MODEL_LIMITS, type ModelLimits, WORKERS_AI_MODELS } from "../models/limits.ts";
import { answerReader } from "../models/encoder/load.ts";
import { hasOwnEncoder } from "../models/retrieval-models.ts";
import type { Model, ModelReply, ModelRequest, WritingTask } from "../models/model.ts";
import { aiGateway, languageServer } from "../platform/config.ts";
import { Evidence } from "./evidence.ts";
import { promptOf } from "./prompt.ts";
import { ReplyReader } from "./reply-reader.ts";
import { replyEvents } from "./tool-loop.ts";
import { ToolRunner } from "./tool-runner.ts";
import { writeText } from "./write-text.ts";

/** Replacements that tests make. */
interface ModelOverrides {
  fetch?: typeof fetch;
  limits?: ModelLimits;
}

/** The deployment's model: on the configured server, otherwise on Workers AI if it is bound, otherwise the extractive engine. */
export function modelFor(env: Env, { fetch: send, limits }: ModelOverrides = {}): Model {
  const { AI: ai } = env;
  const server = languageServer(env);
  if (server) {
    const isLocal = LOOPBACK_HOST.test(new URL(server.baseUrl).hostname);
    const modelByName = (name: string | null) => openAiModel(server, name ?? server.model, send);
    return new LanguageModelEngine(modelByName, limits ?? (isLocal ? LOCAL_MODEL_LIMITS : MODEL_LIMITS), server.seesImages);
  }
  if (!ai) return new ExtractiveEngine(hasOwnEncoder(env) ? () => answerReader(env) : undefined);
  const modelByName = (name: string | null) => workersAiModel(ai, name ?? WORKERS_AI_MODELS.language, aiGateway(env));
  return new LanguageModelEngine(modelByName, limits ?? MODEL_LIMITS);
}

const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/**
 * Answers with a language model, grounded in passages and tool results: the model reads a prompt (prompt.ts) and calls tools
 * (tool-loop.ts), and its reply is shown as far as the evidence supports it (reply-reader.ts).
 */
class LanguageModelEngine implements Model {
  /** @param modelByName returns the model that an agent chose; null names the deployment's. */
  constructor(
    private readonly modelByName: (name: string | null) => ChatModel,
    private readonly limits: ModelLimits,
    readonly seesImages = false,
  ) {}

  async answer(request: ModelRequest): Promise<ModelReply> {
    const { question, instructions, history, modelName, tools, rounds, observer } = request;
    const evidence = new Evidence(question);
    const { messages, secrets } = promptOf(request, evidence);
    const runner = new ToolRunner(tools, evidence, this.limits, observer);
    const engine = { model: this.modelByName(modelName), limits: this.limits, observer };
    const conversation = [instructions ?? "", question, ...history.map(({ text }) => text)];
    const reader = new ReplyReader(replyEvents(engine, messages, runner, rounds), {
      evidence,
      secrets,
      textsWithLinks: () => [...conversation, ...evidence.texts()],
      handoffReason: (reason) => runner.handoffReason(reason),
    });
    return reader.read();
  }

  write({ modelName, ...task }: WritingTask): Promise<string> {
    return writeText({ model: this.modelByName(modelName), limits: this.limits }, task);
  }
}
