import type { HandoffReason } from "../platform/db/columns.ts";
import { HandoffError, SMALL_TALK_CONFIDENCE } from "../models/model.ts";
import type { CitablePassage } from "../models/retrieval.ts";
import { StreamError } from "../models/stream-with-retry.ts";
import { CheckedAnswer } from "./checked-answer.ts";
import type { Evidence } from "./evidence.ts";
import { parseHeader, type ReplyHeader } from "./header.ts";
import { type ReplyPart, ReplyParts } from "./reply-parts.ts";
import { looksStructured } from "./structured-reply.ts";
import { type AllowedLinks, REMOVED_LINK, visibleText } from "./visible-text.ts";

/** Small talk is short, without links and digits. Anything else is an answer without sources, and is not shown. */
const MAX_SMALL_TALK_LENGTH = 200;

/** A reply with this beginning may be a model's thinking, of which the end is still to come. */
const LOOKS_LIKE_REASONING = /^\s*(?:okay|ok|alright|hmm|wait|first|let me|let[’']s|we need|i need|the (?:user|visitor))\b/i;

const REASONS = { unknown: "missing_knowledge", human: "customer_request", unsupported: "unsupported_request" } as const;

/**
 * The text of one reply, from the model's deltas to the text that the visitor sees. A header tells what the reply is (header.ts): an
 * answer from named sources, whose sentences are shown, small talk, or a refusal. The sentences of a reply without a header are
 * checked one by one (checked-answer.ts).
 */
export class ReplyText {
  /** The whole text of the model so far. */
  written = "";
  kind: "unmarked" | "sources" | "smalltalk" = "unmarked";
  private answer: CheckedAnswer;
  private readonly parts: ReplyParts;
  /** The parts before the first header, which may name their sources. */
  private readonly unmarked: ReplyPart[] = [];
  /** The ids in all headers so far. */
  private readonly cited: string[] = [];
  /** The reason of a refusal in a text that is held back. It counts when the reply has ended. */
  private refusal: HandoffReason | undefined;
  private ready = "";
  private isFirst = true;

  constructor(
    private readonly evidence: Evidence,
    private readonly links: AllowedLinks,
  ) {
    this.parts = new ReplyParts((text) => this.toVisible(text).text === "");
    this.answer = this.newAnswer(false);
  }

  /** The passages that the answer cites. */
  get passages(): CitablePassage[] {
    return this.kind === "smalltalk" ? [] : this.evidence.passagesOf([...this.answer.ids]);
  }

  /** Computes the probability, 0..1, that the answer is right. */
  confidence(): number {
    const cited = this.kind === "smalltalk" ? undefined : this.evidence.confidenceOf([...this.answer.ids]);
    return cited === undefined ? SMALL_TALK_CONFIDENCE : cited * this.answer.support;
  }

  /**
   * Reads the next text of the model.
   * @returns the text that can be shown now.
   * @throws HandoffError if the reply refuses the question or has no sources.
   */
  push(text: string): string {
    this.written += text;
    for (const part of this.parts.push(text)) this.read(part);
    return this.takeReady();
  }

  /**
   * Ends the reply.
   * @returns the text that was held back until now.
   * @throws HandoffError if nothing of the reply may be shown; StreamError if the model wrote nothing.
   */
  end(): string {
    for (const part of this.parts.end()) this.read(part);
    if (this.kind === "sources" && !this.answer.isBegun && this.unmarked.length > 0) this.readUnmarkedAgain();
    this.ready += this.answer.end();
    if (this.refusal) throw new HandoffError(this.refusal);
    if (this.answer.isBegun && this.kind !== "smalltalk") return this.takeReady(true);
    const smallTalk = this.kind === "smalltalk" ? this.ready.trim() : this.answer.smallTalk;
    if (smallTalk !== undefined) return this.endSmallTalk(smallTalk);
    if (this.kind === "sources") this.requireSources();
    if (this.kind === "sources" || this.written.trim() === "") throw new StreamError("the model wrote nothing");
    throw new HandoffError(this.answer.declines ? "missing_knowledge" : "low_confidence");
  }

  /** Whether nothing is shown before the reply ends, since it may be reasoning, a JSON object, or too long for small talk. */
  private get isHeld(): boolean {
    if (this.kind !== "unmarked") return this.kind === "smalltalk";
    return LOOKS_LIKE_REASONING.test(this.written) || looksStructured(this.written);
  }

  private takeReady(isEnd = false): string {
    if (this.isHeld && !isEnd) return "";
    if (this.answer.isBegun && this.answer.declines) throw new HandoffError("missing_knowledge");
    const { ready } = this;
    this.ready = "";
    return ready;
  }

  private read(part: ReplyPart): void {
    if (this.refusal) return;
    const found = this.headerOf(part);
    this.isFirst = false;
    if (found) this.readHeader(found.header);
    const text = found ? found.rest : part.text;
    if (this.refusal) return;
    if (this.kind === "sources" && text !== "") this.requireSources();
    if (this.kind === "unmarked") this.unmarked.push(part);
    this.ready += this.answer.read({ ...part, text });
  }

  /** Finds a header. A refusal counts at the start of a line; within an answer it needs its @, since "Unknown:" may belong to the answer. */
  private headerOf(part: ReplyPart): ReturnType<typeof parseHeader> {
    const found = parseHeader(part.text);
    if (!found || found.header.kind === "sources") return found;
    const isLineStart = this.isFirst || part.space.includes("\n");
    return isLineStart && (!this.answer.isBegun || part.text.includes("@")) ? found : undefined;
  }

  private readHeader(header: ReplyHeader): void {
    if (header.kind === "sources") return this.readSources(header.ids);
    if (header.kind !== "smalltalk") return this.refuse(REASONS[header.kind]);
    if (!this.answer.isBegun) this.begin("smalltalk");
  }

  private readSources(ids: readonly string[]): void {
    this.cited.push(...ids);
    if (this.kind === "unmarked" && (!this.answer.isBegun || this.isHeld)) this.begin("sources");
    else if (this.kind === "sources") this.answer.cite(ids);
  }

  /** Begins the text that is meant for the visitor: what came before its header is not. */
  private begin(kind: "sources" | "smalltalk"): void {
    this.kind = kind;
    this.ready = "";
    this.answer = this.newAnswer(true);
  }

  /** Reads the parts before a header at the end of the reply, and checks them against the sources that it names. */
  private readUnmarkedAgain(): void {
    this.kind = "unmarked";
    this.answer = this.newAnswer(false);
    for (const part of this.unmarked) this.ready += this.answer.read(part);
  }

  private refuse(reason: HandoffReason): void {
    if (!this.isHeld) throw new HandoffError(reason);
    this.refusal = reason;
  }

  private requireSources(): void {
    if (!this.cited.some((id) => this.evidence.has(id))) throw new HandoffError("low_confidence");
  }

  private endSmallTalk(text: string): string {
    if (text === "") throw new StreamError("the model wrote nothing");
    if (text.length > MAX_SMALL_TALK_LENGTH || /\d/.test(text) || text.includes(REMOVED_LINK)) throw new HandoffError("low_confidence");
    this.kind = "smalltalk";
    return text;
  }

  private newAnswer(isTrusted: boolean): CheckedAnswer {
    return new CheckedAnswer({ evidence: this.evidence, cited: this.cited, isTrusted, toVisible: (text) => this.toVisible(text) });
  }

  private toVisible(text: string): ReturnType<typeof visibleText> {
    return visibleText(text, this.links, (id) => this.evidence.has(id));
  }
}
