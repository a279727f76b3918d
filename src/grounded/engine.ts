import type { ChatModel } from "../models/chat-model.ts";
import { MODEL_LIMITS, type ModelLimits } from "../models/limits.ts";
import type { Model, ModelReply, ModelRequest } from "../models/model.ts";
import { Evidence, Quoter } from "./evidence.ts";
import { promptOf } from "./prompt.ts";
import { ReplyReader } from "./reply-reader.ts";
import { replyEvents } from "./tool-loop.ts";
import { ToolRunner } from "./tool-runner.ts";

/** Answers with a language model, grounded in passages and tool results: an answer that cites none of them is refused. */
export class LanguageModelEngine implements Model {
  /** @param modelByName the model that an agent chose; null names the deployment's. */
  constructor(
    private readonly modelByName: (name: string | null) => ChatModel,
    private readonly limits: ModelLimits = MODEL_LIMITS,
  ) {}

  async answer(request: ModelRequest): Promise<ModelReply> {
    const quoter = new Quoter();
    const evidence = new Evidence(quoter);
    const runner = new ToolRunner(request.tools, evidence, this.limits, request.observer);
    const { messages, secrets } = promptOf(request, quoter, evidence);
    const conversation = [request.instructions ?? "", request.question, ...request.history.map(({ text }) => text)];
    const engine = { model: this.modelByName(request.modelName), limits: this.limits, observer: request.observer };
    const events = replyEvents(engine, messages, runner);
    const reader = new ReplyReader(events, {
      question: request.question,
      evidence,
      secrets,
      textsWithLinks: () => [...conversation, ...evidence.texts()],
      handoffReason: (reason) => runner.handoffReason(reason),
    });
    return reader.read();
  }
}
