import type { HandoffReason } from "../platform/db/columns.ts";
import { truncate } from "../platform/text.ts";
import { AllowedLinks, AnswerFilter, REMOVED_LINK } from "./answer-filter.ts";
import type { Evidence } from "./evidence.ts";
import { type HeaderMatch, HeaderParser, type NoHeader, type ReplyHeader } from "./header.ts";
import type { ReplyEvent } from "./language-model.ts";
import { LeakGuard, type Secret } from "./leak-guard.ts";
import { MAX_ANSWER_LENGTH } from "./limits.ts";
import { HandoffError, type ModelReply, singleDelta, SMALL_TALK_CONFIDENCE } from "./model.ts";
import type { Passage } from "./retrieval.ts";

/** Small talk is short and has neither links nor digits: anything else is an answer without sources. */
const MAX_SMALL_TALK_LENGTH = 200;
const ELLIPSIS = "…";

const UNGROUNDED: ModelReply = { outcome: "handed_off", reason: "low_confidence", confidence: 0 };

interface Checks {
  secrets: readonly Secret[];
  /** The texts whose links the answer may repeat. */
  textsWithLinks: () => string[];
  /** The reason to record where the model gives up for this one. */
  blame: (reason: HandoffReason) => HandoffReason;
}

/**
 * Reads a language model's reply: its header decides the outcome and what the answer is based on; the text after it is
 * streamed through the answer filter and the leak guard.
 */
export class ReplyReader {
  private readonly links: AllowedLinks;
  private readonly guard: LeakGuard;
  private readonly blame: Checks["blame"];

  constructor(
    private readonly events: AsyncGenerator<ReplyEvent, void>,
    private readonly evidence: Evidence,
    { secrets, textsWithLinks, blame }: Checks,
  ) {
    this.links = new AllowedLinks(textsWithLinks);
    this.guard = new LeakGuard(secrets);
    this.blame = blame;
  }

  /** Reads up to the first text. @throws Error when the model fails before it. */
  async read(): Promise<ModelReply> {
    let reply: ModelReply | undefined;
    try {
      reply = this.withBlame(await this.replyAfter(await this.readHeader()));
      return reply;
    } catch (error) {
      if (error instanceof HandoffError) return { outcome: "handed_off", reason: error.reason, confidence: 0 };
      throw error;
    } finally {
      if (reply?.outcome !== "answered") await this.events.return();
    }
  }

  private withBlame(reply: ModelReply): ModelReply {
    if (reply.outcome === "answered") return reply;
    const reason = this.blame(reply.outcome === "handed_off" ? reply.reason : "missing_knowledge");
    return reason === "tool_failure" ? { outcome: "handed_off", reason, confidence: 0 } : reply;
  }

  private async readHeader(): Promise<HeaderMatch | NoHeader> {
    let parser = new HeaderParser();
    for (;;) {
      const { done, value } = await this.events.next();
      if (done || parser.length > MAX_ANSWER_LENGTH) return parser.end();
      // What the model writes before a tool call is not meant for the visitor.
      if (value.type === "tool-round") parser = new HeaderParser();
      const match = value.type === "text" ? parser.push(value.text) : undefined;
      if (match) return match;
    }
  }

  private async replyAfter(match: HeaderMatch | NoHeader): Promise<ModelReply> {
    if (match.header === null) return this.answerByMarkers(match.rest);
    switch (match.header.kind) {
      case "sources":
        return this.answerFrom(match.header.ids, (cited) => this.answerText(match, cited));
      case "smalltalk":
        return this.smallTalk(match);
      case "unknown":
        return { outcome: "no_answer", confidence: 0 };
      default:
        return { outcome: "handed_off", reason: handoffReason(match.header.kind), confidence: 0 };
    }
  }

  private async answerFrom(ids: readonly string[], textOf: (cited: Passage[]) => AsyncGenerator<string, void>): Promise<ModelReply> {
    const grounding = this.evidence.groundingOf(ids);
    if (!grounding) return UNGROUNDED;
    const { cited, confidence } = grounding;
    return { outcome: "answered", confidence, cited, text: await afterFirstDelta(textOf(cited)) };
  }

  /** Without a header only the citation markers in the text say what the answer is based on, so it is read to its end first. */
  private async answerByMarkers(whole: string): Promise<ModelReply> {
    const filter = this.newFilter(false);
    const visible = filter.push(whole) + filter.end();
    const text = truncate(this.guard.push(visible) + this.guard.end(), MAX_ANSWER_LENGTH);
    return text === "" ? failEmpty() : this.answerFrom(filter.citedIds, () => singleDelta(text));
  }

  private async smallTalk(match: HeaderMatch): Promise<ModelReply> {
    let text = "";
    for await (const delta of this.answerText(match, [])) text += delta;
    if (text === "") return failEmpty();
    if (text.length > MAX_SMALL_TALK_LENGTH || /\d/.test(text) || text.includes(REMOVED_LINK)) return UNGROUNDED;
    return { outcome: "answered", confidence: SMALL_TALK_CONFIDENCE, cited: [], text: singleDelta(text) };
  }

  /** The visible text after the header. Passages that are cited only within the text are added to `cited` at its end. */
  private async *answerText({ rest, isFenced }: HeaderMatch, cited: Passage[]): AsyncGenerator<string, void> {
    const filter = this.newFilter(isFenced);
    let left = MAX_ANSWER_LENGTH;
    const checked = (text: string): string => {
      this.checkLaterHeaders(filter.headers);
      const safe = truncate(this.guard.push(text), left);
      left -= safe.length;
      return safe;
    };
    yield checked(filter.push(rest));
    for await (const event of this.events) {
      if (event.type === "tool-round") this.links.refresh();
      yield checked(filter.push(textOfEvent(event)));
      if (left <= 0) break;
    }
    yield checked(filter.end()) + (left > 0 ? this.guard.end() : ELLIPSIS);
    const ids = filter.headers.flatMap((header) => (header.kind === "sources" ? header.ids : []));
    const later = this.evidence.groundingOf([...ids, ...filter.citedIds]);
    cited.push(...(later?.cited ?? []).filter((passage) => !cited.includes(passage)));
  }

  /** A later header that refuses the question overrides the first one. */
  private checkLaterHeaders(headers: readonly ReplyHeader[]): void {
    for (const { kind } of headers) {
      if (kind !== "sources" && kind !== "smalltalk")
        throw new HandoffError(this.blame(kind === "unknown" ? "missing_knowledge" : handoffReason(kind)));
    }
  }

  private newFilter(isFenced: boolean): AnswerFilter {
    return new AnswerFilter(this.links, (id) => this.evidence.has(id), isFenced);
  }
}

function textOfEvent(event: ReplyEvent): string {
  if (event.type === "text") return event.text;
  return event.type === "tool-round" ? "\n\n" : ELLIPSIS;
}

function handoffReason(kind: "human" | "unsupported"): "customer_request" | "unsupported_request" {
  return kind === "human" ? "customer_request" : "unsupported_request";
}

/**
 * Waits for the first delta that is not empty, and leaves empty ones out. Unlike a generator's, `return` stops the source
 * even before anything was read.
 * @throws Error when there is none; whatever the source throws before it.
 */
async function afterFirstDelta(deltas: AsyncGenerator<string, void>): Promise<AsyncIterableIterator<string, void>> {
  const next = async (): Promise<IteratorResult<string, void>> => {
    let read = await deltas.next();
    while (!read.done && read.value === "") read = await deltas.next();
    return read;
  };
  let first: IteratorResult<string, void> | undefined = await next();
  if (first.done) return failEmpty();
  const iterator: AsyncIterableIterator<string, void> = {
    [Symbol.asyncIterator]: () => iterator,
    async next() {
      const read = first ?? (await next());
      first = undefined;
      return read;
    },
    async return() {
      await deltas.return();
      return { done: true, value: undefined };
    },
  };
  return iterator;
}

function failEmpty(): never {
  throw new Error("The model wrote nothing");
}
