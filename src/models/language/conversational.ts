import type { LanguageModelV4 } from "@ai-sdk/provider";
import { Evidence } from "./evidence.ts";
import { MODEL_LIMITS, type ModelLimits } from "./limits.ts";
import type { Model, ModelRequest, Opening } from "../model.ts";
import { promptOf } from "./prompt.ts";
import { Quotation } from "./quote.ts";
import { replyEvents } from "./reply-events.ts";
import { Reply } from "./reply.ts";
import { ToolRunner } from "./tool-runner.ts";

/** Answers with a language model, from the passages alone: what it says without naming them is not said to anybody. */
export class ConversationalModel implements Model {
  /** @param languageModel the engine by an agent's own choice of a model, null where it has none. */
  constructor(
    private readonly languageModel: (name: string | null) => LanguageModelV4,
    private readonly limits: ModelLimits = MODEL_LIMITS,
  ) {}

  async answer(request: ModelRequest): Promise<Opening> {
    const quotation = new Quotation();
    const evidence = new Evidence(quotation);
    const runner = new ToolRunner(request.tools, evidence, this.limits);
    const prompt = promptOf(request, quotation, evidence);
    const own = [request.instructions ?? "", request.question, ...request.history.map(({ text }) => text)];
    const events = replyEvents({ model: this.languageModel(request.modelName), limits: this.limits }, prompt.messages, runner);
    const links = () => [...own, ...evidence.texts()];
    return new Reply(events, evidence, { secrets: prompt.secrets, links, blame: (reason) => runner.blame(reason) }).open();
  }
}
