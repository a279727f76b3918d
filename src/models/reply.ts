import type { HandoffReason } from "../platform/db/columns.ts";
import { truncate } from "../platform/text.ts";
import { AnswerText, KnownLinks, NO_LINK } from "./answer-text.ts";
import type { Evidence } from "./evidence.ts";
import { type Begun, type Header, HeaderReader } from "./header.ts";
import type { ReplyEvent } from "./language-model.ts";
import { LeakGuard, type Secret } from "./leak-guard.ts";
import { MAX_ANSWER_LENGTH } from "./limits.ts";
import { HandedOff, type Opening, SMALL_TALK_CONFIDENCE } from "./model.ts";
import { only, opened } from "./pieces.ts";
import type { Passage } from "./retrieval.ts";

/** Small talk is short, and holds neither links nor numbers: whatever does is an answer that rests on nothing. */
const MAX_SMALLTALK_LENGTH = 200;
const CUT = "…";

const UNSUPPORTED: Opening = { outcome: "handed_off", reason: "low_confidence", confidence: 0 };

/** What an answer is checked against. */
interface Checks {
  secrets: readonly Secret[];
  /** The texts whose links it may repeat. */
  links: () => string[];
  /** Why the turn is a human's where the model gives it up for this reason. */
  blame: (reason: HandoffReason) => HandoffReason;
}

/** One reply of a model, from its header on. */
export class Reply {
  private readonly links: KnownLinks;
  private readonly guard: LeakGuard;
  private readonly blame: Checks["blame"];

  constructor(
    private readonly events: AsyncGenerator<ReplyEvent, void>,
    private readonly evidence: Evidence,
    { secrets, links, blame }: Checks,
  ) {
    this.links = new KnownLinks(links);
    this.guard = new LeakGuard(secrets);
    this.blame = blame;
  }

  /** @throws Error when the model fails before its first word. */
  async open(): Promise<Opening> {
    let opening: Opening | undefined;
    try {
      opening = this.blamed(await this.openWith(await this.readHeader()));
      return opening;
    } catch (error) {
      if (error instanceof HandedOff) return { outcome: "handed_off", reason: error.reason, confidence: 0 };
      throw error;
    } finally {
      if (opening?.outcome !== "answered") await this.events.return();
    }
  }

  /** The same opening, but that a model which gives up after a tool did not work gives up for that tool. */
  private blamed(opening: Opening): Opening {
    if (opening.outcome === "answered") return opening;
    const reason = this.blame(opening.outcome === "handed_off" ? opening.reason : "missing_knowledge");
    return reason === "tool_failure" ? { outcome: "handed_off", reason, confidence: 0 } : opening;
  }

  private async readHeader(): Promise<Begun | { header: null; rest: string }> {
    let reader = new HeaderReader();
    for (;;) {
      const { done, value } = await this.events.next();
      if (done || reader.length > MAX_ANSWER_LENGTH) return reader.end();
      // What it says before it asks for a tool is not meant for the visitor.
      if (value.type === "round") reader = new HeaderReader();
      const begun = value.type === "text" ? reader.push(value.text) : undefined;
      if (begun) return begun;
    }
  }

  private async openWith(begun: Begun | { header: null; rest: string }): Promise<Opening> {
    if (begun.header === null) return this.openByMarkers(begun.rest);
    switch (begun.header.kind) {
      case "sources":
        return this.openFrom(begun.header.ids, (cited) => this.text(begun, cited));
      case "smalltalk":
        return this.openSmalltalk(begun);
      case "unknown":
        return { outcome: "no_answer", confidence: 0 };
      default:
        return { outcome: "handed_off", reason: reasonOf(begun.header.kind), confidence: 0 };
    }
  }

  /** An answer that names what it rests on; where nothing of that was given, it rests on nothing. */
  private async openFrom(ids: readonly string[], textOf: (cited: Passage[]) => AsyncGenerator<string, void>): Promise<Opening> {
    const support = await this.evidence.supportOf(ids);
    if (!support) return UNSUPPORTED;
    const { cited, confidence } = support;
    return { outcome: "answered", confidence, cited, text: await opened(textOf(cited)) };
  }

  /** Without a header only the markers in its text can say what an answer rests on, so it is read whole. */
  private async openByMarkers(whole: string): Promise<Opening> {
    const answer = this.answerText(false);
    const shown = answer.push(whole) + answer.end();
    const text = truncate(this.guard.push(shown) + this.guard.end(), MAX_ANSWER_LENGTH);
    return text === "" ? failEmpty() : this.openFrom(answer.markedIds, () => only(text));
  }

  private async openSmalltalk(begun: Begun): Promise<Opening> {
    let text = "";
    for await (const piece of this.text(begun, [])) text += piece;
    if (text === "") return failEmpty();
    if (text.length > MAX_SMALLTALK_LENGTH || /\d/.test(text) || text.includes(NO_LINK)) return UNSUPPORTED;
    return { outcome: "answered", confidence: SMALL_TALK_CONFIDENCE, cited: [], text: only(text) };
  }

  /** What the visitor reads of what comes after the header. What is named later on is cited too. */
  private async *text({ rest, isFenced }: Begun, cited: Passage[]): AsyncGenerator<string, void> {
    const answer = this.answerText(isFenced);
    let left = MAX_ANSWER_LENGTH;
    const shown = (text: string): string => {
      this.heed(answer.headers);
      const checked = truncate(this.guard.push(text), left);
      left -= checked.length;
      return checked;
    };
    yield shown(answer.push(rest));
    for await (const event of this.events) {
      if (event.type === "round") this.links.refresh();
      yield shown(answer.push(writtenBy(event)));
      if (left <= 0) break;
    }
    yield shown(answer.end()) + (left > 0 ? this.guard.end() : CUT);
    const ids = answer.headers.flatMap((header) => (header.kind === "sources" ? header.ids : []));
    const later = await this.evidence.supportOf([...ids, ...answer.markedIds]);
    cited.push(...(later?.cited ?? []).filter((passage) => !cited.includes(passage)));
  }

  /** A model that changes its mind in the middle of an answer is right the second time. */
  private heed(headers: readonly Header[]): void {
    for (const { kind } of headers) {
      if (kind !== "sources" && kind !== "smalltalk")
        throw new HandedOff(this.blame(kind === "unknown" ? "missing_knowledge" : reasonOf(kind)));
    }
  }

  private answerText(isFenced: boolean): AnswerText {
    return new AnswerText(this.links, (id) => this.evidence.has(id), isFenced);
  }
}

function writtenBy(event: ReplyEvent): string {
  if (event.type === "text") return event.text;
  return event.type === "round" ? "\n\n" : CUT;
}

function reasonOf(kind: "human" | "unsupported"): "customer_request" | "unsupported_request" {
  return kind === "human" ? "customer_request" : "unsupported_request";
}

function failEmpty(): never {
  throw new Error("The model wrote nothing");
}
