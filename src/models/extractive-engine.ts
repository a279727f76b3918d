import { ExtractiveModel } from "./extractive.ts";
import { type Model, type ModelRequest, type Opening, SMALL_TALK_CONFIDENCE } from "./model.ts";
import { only, sentencesOf } from "./pieces.ts";
import { replyToThanks, smallTalkOf } from "./small-talk.ts";

const extractive = new ExtractiveModel();

/** The engine without a network: it says the knowledge's own sentences, one by one. */
export class ExtractiveEngine implements Model {
  async answer(request: ModelRequest): Promise<Opening> {
    const polite = politeReply(request);
    if (polite !== undefined) return { outcome: "answered", cited: [], confidence: SMALL_TALK_CONFIDENCE, text: only(polite) };
    const reply = await extractive.answer(request);
    if (reply.outcome === "no_answer") return reply;
    const { cited, confidence, text } = reply;
    return { outcome: "answered", cited, confidence, text: sentencesOf(text, request.language) };
  }
}

/** What is said to a visitor who greets or thanks: nobody has to take over for that. */
function politeReply({ question, welcomeMessage, language }: ModelRequest): string | undefined {
  const talk = smallTalkOf(question);
  if (talk === undefined) return undefined;
  return talk === "thanks" ? replyToThanks(language) : welcomeMessage.trim() || undefined;
}
