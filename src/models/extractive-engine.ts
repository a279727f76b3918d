import { ExtractiveModel } from "./extractive.ts";
import type { Model, ModelRequest, Opening } from "./model.ts";
import { sentencesOf } from "./pieces.ts";

const extractive = new ExtractiveModel();

/** The engine without a network: it says the knowledge's own sentences, one by one. */
export class ExtractiveEngine implements Model {
  async answer(request: ModelRequest): Promise<Opening> {
    const reply = await extractive.answer(request);
    if (reply.outcome === "no_answer") return reply;
    const { cited, confidence, text } = reply;
    return { outcome: "answered", cited, confidence, text: sentencesOf(text, request.language) };
  }
}
