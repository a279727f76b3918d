import type { HandoffReason } from "../platform/db/columns.ts";
import { truncate } from "../platform/text.ts";
import { AllowedLinks, AnswerFilter, REMOVED_LINK } from "./answer-filter.ts";
import type { Evidence } from "./evidence.ts";
import { type HeaderMatch, HeaderParser, parseHeader, type ReplyHeader } from "./header.ts";
import type { ReplyEvent } from "./engine.ts";
import { LeakGuard, type Secret } from "./leak-guard.ts";
import { MAX_ANSWER_LENGTH } from "../models/limits.ts";
import { HandoffError, type ModelReply, singleDelta, SMALL_TALK_CONFIDENCE } from "../models/model.ts";
import { PlainAnswer } from "./plain-answer.ts";
import type { Passage } from "../models/retrieval.ts";
import { StreamError } from "../models/stream-with-retry.ts";
import { looksStructured, parseStructuredReply, type StructuredReply } from "./structured-reply.ts";

/** Small talk is short and has neither links nor digits: anything else is an answer without sources. */
const MAX_SMALL_TALK_LENGTH = 200;
const ELLIPSIS = "…";
/** Where little of a reply may be shown, it is read no further than this. */
const MAX_READ_LENGTH = 2 * MAX_ANSWER_LENGTH;

const UNGROUNDED: ModelReply = { outcome: "handed_off", reason: "low_confidence", confidence: 0 };

/** A model that thinks aloud may still write where its reasoning ends. */
const LOOKS_LIKE_REASONING = /^\s*(?:okay|ok|alright|hmm|wait|first|let me|let[’']s|we need|i need|the (?:user|visitor))\b/i;

interface Checks {
  /** The visitor's. */
  question: string;
  secrets: readonly Secret[];
  /** The texts whose links the answer may repeat. */
  textsWithLinks: () => string[];
  /** The reason to record where the model gives up for this one. */
  blame: (reason: HandoffReason) => HandoffReason;
}

/** What a reply begins with: a header, sentences that are supported without one, or neither of them to its end. */
type Opening = { kind: "header"; match: HeaderMatch } | { kind: "plain"; answer: PlainAnswer; shown: string } | Whole;

interface Whole {
  kind: "whole";
  text: string;
  isTruncated: boolean;
}

/** Looks for the header of a reply, and meanwhile for the first sentence that is supported without one. */
class OpeningReader {
  text = "";
  private shown = "";
  private readonly parser = new HeaderParser();
  /** A header that may not be the reply's own: it had text before it and none after it so far, or stands in reasoning. */
  private last: HeaderMatch | undefined;

  constructor(private readonly answer: PlainAnswer) {}

  /** @returns the opening once it is known. */
  push(text: string): Opening | undefined {
    this.text += text;
    if (this.last?.header.kind === "sources" && text.trim() !== "") {
      return { kind: "header", match: { ...this.last, rest: this.last.rest + text } };
    }
    if (this.last) return undefined;
    const match = this.parser.push(text);
    if (match && !this.mayEndAnswer(match) && !this.mayBeReasoning(match)) return { kind: "header", match };
    this.last = match;
    this.shown += this.answer.push(text);
    if (!this.answer.isGrounded || this.answer.headers.length > 0) return undefined;
    if (looksStructured(this.text) || LOOKS_LIKE_REASONING.test(this.text)) return undefined;
    return { kind: "plain", answer: this.answer, shown: this.shown };
  }

  /** @returns the header at the reply's end; undefined where the reply has to be read without one. */
  end(): Opening | undefined {
    const match = this.last ?? this.parser.end();
    return match && !this.mayEndAnswer(match) ? { kind: "header", match } : undefined;
  }

  /** A refusal within reasoning may still be reconsidered. */
  private mayBeReasoning({ header }: HeaderMatch): boolean {
    return header.kind !== "sources" && LOOKS_LIKE_REASONING.test(this.text);
  }

  private mayEndAnswer({ header, rest }: HeaderMatch): boolean {
    return header.kind === "sources" && rest.trim() === "" && this.parser.hasTextBefore;
  }
}

/**
 * Reads a language model's reply. Its header decides the outcome and what the answer is based on; where it has none, its
 * sentences are checked one by one. The text is streamed through the answer filter and the leak guard.
 */
export class ReplyReader {
  private readonly links: AllowedLinks;
  private readonly guard: LeakGuard;
  private readonly blame: Checks["blame"];
  private readonly question: string;

  constructor(
    private readonly events: AsyncGenerator<ReplyEvent, void>,
    private readonly evidence: Evidence,
    { secrets, textsWithLinks, blame, question }: Checks,
  ) {
    this.links = new AllowedLinks(textsWithLinks);
    this.guard = new LeakGuard(secrets);
    this.blame = blame;
    this.question = question;
  }

  /** Reads up to the first text. @throws Error when the model fails before it. */
  async read(): Promise<ModelReply> {
    let reply: ModelReply | undefined;
    try {
      reply = this.withBlame(await this.replyAfter(await this.readOpening()));
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

  private async readOpening(): Promise<Opening> {
    let read = new OpeningReader(this.newPlainAnswer());
    let isTruncated = false;
    for (;;) {
      const { done, value } = await this.events.next();
      if (done || read.text.length > MAX_ANSWER_LENGTH) return read.end() ?? { kind: "whole", text: read.text, isTruncated };
      if (value.type === "tool-round" || value.type === "restart") {
        // What the model writes before a tool call, or before the end of its reasoning, is not meant for the visitor.
        read = new OpeningReader(this.newPlainAnswer());
        this.links.refresh();
      } else if (value.type === "truncated") isTruncated = true;
      else {
        const opening = read.push(value.text);
        if (opening) return opening;
      }
    }
  }

  private async replyAfter(opening: Opening): Promise<ModelReply> {
    if (opening.kind === "whole") return this.replyFrom(opening);
    if (opening.kind === "plain") return this.plainReply(opening.answer, (cited) => this.plainText(opening, cited));
    const { match } = opening;
    if (match.header.kind === "sources") return this.answerFrom(match.header.ids, (cited) => this.answerText(match, cited));
    return match.header.kind === "smalltalk" ? this.smallTalk(await textOf(this.answerText(match, []))) : refusalOf(match.header.kind);
  }

  /** A reply without a header that was read to its end. */
  private replyFrom({ text, isTruncated }: Whole): ModelReply | Promise<ModelReply> {
    if (text.trim() === "") return failEmpty();
    const structured = parseStructuredReply(text);
    if (structured) return this.structuredReply(structured);
    const answer = this.newPlainAnswer(idsOfHeaders(text));
    const shown = answer.push(text) + answer.end() + (isTruncated ? ELLIPSIS : "");
    if (answer.isGrounded) return this.plainReply(answer, () => this.wholeText(shown));
    if (answer.smallTalk !== undefined) return this.smallTalk(answer.smallTalk);
    return answer.declines ? { outcome: "no_answer", confidence: 0 } : UNGROUNDED;
  }

  private async structuredReply({ answer, ids, kind }: StructuredReply): Promise<ModelReply> {
    if (kind === "smalltalk") return this.smallTalk(await textOf(this.wholeText(this.filtered(answer))));
    if (kind !== undefined || answer.trim() === "") return refusalOf(kind ?? "unknown");
    if (!ids.some((id) => this.evidence.has(id))) return this.replyFrom({ kind: "whole", text: answer, isTruncated: false });
    return this.answerFrom(ids, () => this.wholeText(this.filtered(answer)));
  }
  private async answerFrom(ids: readonly string[], textFrom: (cited: Passage[]) => AsyncGenerator<string, void>): Promise<ModelReply> {
    const grounding = this.evidence.groundingOf(ids);
    if (!grounding) return UNGROUNDED;
    const { cited, confidence } = grounding;
    return { outcome: "answered", confidence, cited, text: await afterFirstDelta(textFrom(cited)) };
  }

  /** An answer without a header is as sure as one that cites what supports it, less by what of it is not supported. */
  private async plainReply(answer: PlainAnswer, textFrom: (cited: Passage[]) => AsyncGenerator<string, void>): Promise<ModelReply> {
    if (answer.declines) return { outcome: "no_answer", confidence: 0 };
    const reply = await this.answerFrom([...answer.ids], textFrom);
    return reply.outcome === "answered" ? { ...reply, confidence: reply.confidence * answer.support } : reply;
  }

  private smallTalk(text: string): ModelReply {
    if (text === "") return failEmpty();
    if (text.length > MAX_SMALL_TALK_LENGTH || /\d/.test(text) || text.includes(REMOVED_LINK)) return UNGROUNDED;
    return { outcome: "answered", confidence: SMALL_TALK_CONFIDENCE, cited: [], text: singleDelta(text) };
  }

  private async *wholeText(text: string): AsyncGenerator<string, void> {
    yield truncate(this.guard.push(text) + this.guard.end(), MAX_ANSWER_LENGTH);
  }

  /** The visible text after the header. Passages that are cited only within the text are added to `cited` at its end. */
  private async *answerText({ rest, isFenced }: HeaderMatch, cited: Passage[]): AsyncGenerator<string, void> {
    const filter = this.newFilter(isFenced);
    yield* this.checkedText(filter.push(rest), filter, ELLIPSIS);
    const ids = filter.headers.flatMap((header) => (header.kind === "sources" ? header.ids : []));
    this.addCited(cited, [...ids, ...filter.citedIds]);
  }

  /** The supported sentences of an answer without a header. */
  private async *plainText({ answer, shown }: Extract<Opening, { kind: "plain" }>, cited: Passage[]): AsyncGenerator<string, void> {
    yield* this.checkedText(shown, answer, "");
    this.addCited(cited, [...answer.ids]);
  }

  /**
   * The text of a filter, up to the longest answer, without anything secret.
   * @param shown what the filter has let through already.
   * @param cutOff what the filter reads where the model was stopped by its token limit.
   */
  private async *checkedText(shown: string, filter: AnswerFilter | PlainAnswer, cutOff: string): AsyncGenerator<string, void> {
    let left = MAX_ANSWER_LENGTH;
    const checked = (text: string): string => {
      this.checkLaterHeaders(filter.headers);
      const safe = truncate(this.guard.push(text), left);
      left -= safe.length;
      return safe;
    };
    let isTruncated = false;
    let read = 0;
    yield checked(shown);
    for await (const event of this.events) {
      if (event.type === "tool-round") this.links.refresh();
      if (event.type === "truncated") isTruncated = true;
      yield checked(filter.push(event.type === "text" ? event.text : event.type === "truncated" ? cutOff : "\n\n"));
      if (event.type === "text") read += event.text.length;
      if (left <= 0 || read > MAX_READ_LENGTH) break;
    }
    yield checked(filter.end()) + (left > 0 ? this.guard.end() + (isTruncated && cutOff === "" ? ELLIPSIS : "") : ELLIPSIS);
  }

  private addCited(cited: Passage[], ids: readonly string[]): void {
    const later = this.evidence.groundingOf(ids);
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

  /** @param cited what the whole answer cites. */
  private newPlainAnswer(cited: readonly string[] = []): PlainAnswer {
    return new PlainAnswer({ question: this.question, evidence: this.evidence, cited, newFilter: () => this.newFilter(false) });
  }

  private filtered(text: string): string {
    const filter = this.newFilter(false);
    return filter.push(text) + filter.end();
  }
}

/** The ids of the headers anywhere in a reply. */
function idsOfHeaders(text: string): string[] {
  return text.split("\n").flatMap((line) => {
    const header = parseHeader(line)?.header;
    return header?.kind === "sources" ? header.ids : [];
  });
}

async function textOf(deltas: AsyncGenerator<string, void>): Promise<string> {
  let text = "";
  for await (const delta of deltas) text += delta;
  return text;
}

function refusalOf(kind: "unknown" | "human" | "unsupported"): ModelReply {
  if (kind === "unknown") return { outcome: "no_answer", confidence: 0 };
  return { outcome: "handed_off", reason: handoffReason(kind), confidence: 0 };
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
  throw new StreamError("the model wrote nothing");
}
