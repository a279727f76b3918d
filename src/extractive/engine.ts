import { sentenceSpans } from "../text/sentences.ts";
import { bestCandidate, candidatesOf, type Candidates, excerptsOf, type RankedCandidates, scoresOf } from "./ranking.ts";
import { composeAnswer } from "./compose.ts";
import { smallTalkAnswer, withoutSmallTalk } from "../text/intents.ts";
import type { AnswerReader } from "../models/encoder/answer-reader.ts";
import { logRarely } from "../platform/telemetry/log.ts";
import { type Model, type ModelReply, type ModelRequest, SMALL_TALK_CONFIDENCE } from "../models/model.ts";
import type { Passage, Retrieval } from "../models/retrieval.ts";

/**
 * Extractive question answering: the answer consists of sentences of the knowledge, so it cannot say anything that no source says. It
 * needs no network.
 */
export class ExtractiveEngine implements Model {
  /** @param reader loads the service's reader; undefined for a deployment without it. */
  constructor(private readonly reader?: () => Promise<AnswerReader>) {}

  async answer(request: ModelRequest): Promise<ModelReply> {
    const startedMs = Date.now();
    const reply = await this.reply(request);
    const usage = { input: null, output: null };
    const durationMs = Date.now() - startedMs;
    request.observer?.modelCalled({ model: "extractive", durationMs, firstTokenMs: null, usage, finish: "stop", failure: null });
    return reply;
  }

  private async reply(request: ModelRequest): Promise<ModelReply> {
    const smallTalk = smallTalkAnswer(request);
    if (smallTalk !== undefined) {
      return { outcome: "answered", cited: [], confidence: SMALL_TALK_CONFIDENCE, text: sentenceDeltas(smallTalk) };
    }
    const question = withoutSmallTalk(request.question, request.language);
    const { text, cited, confidence } = compose(await this.read(question, request.retrieval));
    if (text === "") return { outcome: "no_answer", confidence };
    return { outcome: "answered", cited, confidence, text: sentenceDeltas(text) };
  }

  /** Returns the candidates, read if they were found by the encoder. Without the reader their words and similarities decide. */
  private async read(question: string, retrieval: Retrieval): Promise<RankedCandidates> {
    const found = candidatesOf(question, retrieval);
    if (!this.reader || !found.isSemantic) return unread(found);
    try {
      return readCandidates(await this.reader(), question, retrieval.previousQuestion, unread(found));
    } catch (error) {
      logRarely("reader_failed", {}, error);
      return unread(found);
    }
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

/** Composes the best answer that the passages allow, however unsure, without the reader. */
export function draftAnswer(question: string, retrieval: Retrieval): Draft {
  return compose(unread(candidatesOf(question, retrieval)));
}

/** Reads the best candidates. */
export function readCandidates(
  reader: AnswerReader,
  question: string,
  previousQuestion: string | null,
  ranked: RankedCandidates,
): RankedCandidates {
  return { ...ranked, reading: reader.read(question, previousQuestion, excerptsOf(ranked, ranked.scores)) };
}

/** Ranks candidates by their scores alone. */
export function unread(found: Candidates, scores: readonly number[] = scoresOf(found)): RankedCandidates {
  return { ...found, scores, reading: undefined };
}

function compose(ranked: RankedCandidates): Draft {
  const found = bestCandidate(ranked);
  if (found === undefined) return { text: "", cited: [], confidence: 0 };
  const { best, confidence } = found;
  return { text: composeAnswer(best.segments, best.at), cited: [best.passage], confidence };
}
