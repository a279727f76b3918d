import { sentenceSpans } from "../text/sentences.ts";
import { bestCandidate, candidatesOf } from "./ranking.ts";
import { composeAnswer } from "./compose.ts";
import { smallTalkAnswer, withoutSmallTalk } from "../text/intents.ts";
import { type Model, type ModelReply, type ModelRequest, SMALL_TALK_CONFIDENCE } from "../models/model.ts";
import type { Passage, Retrieval } from "../models/retrieval.ts";

/**
 * Extractive question answering: the answer consists of sentences of the knowledge, so it cannot say anything that no source says. It
 * needs no network.
 */
export class ExtractiveEngine implements Model {
  async answer(request: ModelRequest): Promise<ModelReply> {
    const startedMs = Date.now();
    const reply = this.reply(request);
    const usage = { input: null, output: null };
    const durationMs = Date.now() - startedMs;
    request.observer?.modelCalled({ model: "extractive", durationMs, firstTokenMs: null, usage, finish: "stop", failure: null });
    return reply;
  }

  private reply(request: ModelRequest): ModelReply {
    const smallTalk = smallTalkAnswer(request);
    if (smallTalk !== undefined) {
      return { outcome: "answered", cited: [], confidence: SMALL_TALK_CONFIDENCE, text: sentenceDeltas(smallTalk) };
    }
    const question = withoutSmallTalk(request.question, request.language);
    const { text, cited, confidence } = draftAnswer(question, request.retrieval);
    if (text === "") return { outcome: "no_answer", confidence };
    return { outcome: "answered", cited, confidence, text: sentenceDeltas(text) };
  }
}

/** Yields the sentences of a text one by one, each with the white space after it. */
async function* sentenceDeltas(text: string): AsyncGenerator<string, void> {
  let from = 0;
  for (const { start } of sentenceSpans(text)) {
    if (start > from) yield text.slice(from, start);
    from = start;
  }
  yield text.slice(from);
}

interface Draft {
  text: string;
  cited: Passage[];
  /** The probability, 0..1, that it is right. */
  confidence: number;
}

/** Composes the best answer that the passages allow, however unsure. */
export function draftAnswer(question: string, retrieval: Retrieval): Draft {
  const found = bestCandidate(candidatesOf(question, retrieval));
  if (found === undefined) return { text: "", cited: [], confidence: 0 };
  const { best, confidence } = found;
  return { text: composeAnswer(best.segments, best.at), cited: [best.passage], confidence };
}
