import { STRONG_MATCH } from "../knowledge/retrieval/curated-answers.ts";
import type { ModelCallReport, ModelObserver, ToolCallReport } from "../models/model.ts";
import type { CuratedMatch, Passage } from "../models/retrieval.ts";
import { truncate, utf8Length } from "../platform/text.ts";
import { type Answer, snippetOf } from "./answer.ts";
import type { Search } from "./search.ts";
import type { Step } from "./spans.ts";
import type { Trace, TraceFacts } from "./trace-wire.ts";

/** The size of a trace as JSON. Most have about 5 KB. */
const MAX_TRACE_BYTES = 32 * 1024;
const MAX_CONTENT_LENGTH = 500;
const MAX_TEXT_LENGTH = 200;
const MAX_QUERY_LENGTH = 2_000;
const MAX_URL_LENGTH = 500;
const MAX_TERMS = 40;

type TracedSearch = Trace["searches"][number];

/** Records how an answer is made. */
export class TraceRecorder implements ModelObserver {
  readonly startedMs = Date.now();
  /** What was done, without what was said. */
  readonly steps: Step[] = [];
  private readonly searches: (Search & Pick<TracedSearch, "by">)[] = [];
  private readonly modelCalls: Trace["model_calls"] = [];
  private readonly toolCalls: Trace["tool_calls"] = [];

  searched(search: Search): void {
    this.searches.push({ ...search, by: "question" });
    const found = { "support_agent.passages": search.retrieval.passages.length };
    this.addStep("search_knowledge", search.durationMs, found, null);
  }

  modelCalled({ model, durationMs, firstTokenMs, usage, finish, failure }: ModelCallReport): void {
    const tokens = { input_tokens: usage.input, output_tokens: usage.output };
    const attributes = {
      "gen_ai.operation.name": "chat",
      "gen_ai.request.model": model,
      "gen_ai.usage.input_tokens": usage.input,
      "gen_ai.usage.output_tokens": usage.output,
      "gen_ai.response.finish_reasons": finish,
    };
    this.addStep(`chat ${model}`, durationMs, attributes, failure);
    this.modelCalls.push({ model, ...tokens, finish, failure, first_token_ms: firstTokenMs, duration_ms: durationMs });
  }

  /** Records a call, but not the tool's response, which may contain secrets. */
  toolCalled({ name, input, durationMs, outcome }: ToolCallReport): void {
    if (outcome?.kind === "found") {
      this.searches.push({ by: "tool", query: outcome.query, retrieval: outcome.retrieval, durationMs });
    }
    const attributes = { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": truncate(name, MAX_TEXT_LENGTH) };
    this.addStep(`execute_tool ${attributes["gen_ai.tool.name"]}`, durationMs, attributes, outcome?.kind === "failed" ? "failed" : null);
    this.toolCalls.push({
      name: truncate(name, MAX_TEXT_LENGTH),
      arguments: truncate(input, MAX_CONTENT_LENGTH),
      ...factsOf(outcome),
      duration_ms: durationMs,
    });
  }

  private addStep(name: string, durationMs: number, attributes: Step["attributes"], failure: string | null): void {
    const endMs = Date.now();
    this.steps.push({ name, startMs: endMs - durationMs, endMs, attributes, failure });
  }

  /** Returns the trace of an answer. @param subject which answer it is, and with which settings it was made. */
  traceOf(subject: Omit<Trace, keyof TraceFacts | "created_at">, answer: Answer, threshold: number): Trace {
    return { ...subject, created_at: new Date().toISOString(), ...this.factsOf(answer, threshold, MAX_TRACE_BYTES) };
  }

  /** Returns the trace of an answer that is not stored as a message. @param maxBytes the largest size as JSON. */
  factsOf(answer: Answer, threshold: number, maxBytes: number): TraceFacts {
    const facts = {
      decision: decisionOf(answer, threshold, this.modelCalls.length > 0),
      searches: this.searches.map((search) => tracedSearch(search, answer)),
      model_calls: this.modelCalls,
      tool_calls: [...this.toolCalls],
      duration_ms: Date.now() - this.startedMs,
    };
    return bounded(facts, maxBytes);
  }

  /** Whether a search found the source or the curated answer with this id. */
  hasFound(sourceId: string): boolean {
    return this.searches.some(
      ({ retrieval: { passages, curated } }) =>
        passages.some((passage) => passage.sourceId === sourceId) || curated.some(({ answerId }) => answerId === sourceId),
    );
  }
}

type ToolCallFacts = Pick<Trace["tool_calls"][number], "outcome" | "note" | "status" | "response_length">;

function factsOf(outcome: ToolCallReport["outcome"]): ToolCallFacts {
  const facts = { note: null, status: null, response_length: null };
  switch (outcome?.kind) {
    case undefined:
      return { ...facts, outcome: "failed", note: "The call could not be run." };
    case "found":
      return { ...facts, outcome: "answered" };
    case "data":
      return { ...facts, outcome: "answered", status: outcome.status ?? null, response_length: outcome.text.length };
    case "note":
      return { ...facts, outcome: "refused", note: truncate(outcome.text, MAX_TEXT_LENGTH) };
    case "failed":
      return { ...facts, outcome: "failed", note: outcome.note, response_length: outcome.text.length };
    case "handed_off":
      return { ...facts, outcome: "handed_off" };
    case "awaited":
      throw new Error("A call whose result is awaited has not ended");
  }
}

function decisionOf(
  { confidence, openingConfidence = confidence, citations, handoff, isSmallTalk }: Answer,
  threshold: number,
  isOfModel: boolean,
): Trace["decision"] {
  const facts = { confidence, threshold };
  if (handoff)
    return {
      outcome: "handed_off",
      reason: handoff.reason,
      explanation: explanationOf(handoff, confidence, threshold) + offNote(handoff),
      ...facts,
    };
  // A model may also cite a curated answer.
  if (citations[0]?.type === "answer" && !isOfModel) {
    const explanation = `The question is that of a curated answer: the similarity of ${shown(confidence)} reaches ${STRONG_MATCH}.`;
    return { outcome: "answered", reason: "curated_answer", explanation, ...facts };
  }
  const explanation = isSmallTalk
    ? "The message is small talk, which is never handed over."
    : `The confidence of ${shown(openingConfidence)} reaches the threshold of ${threshold}.`;
  return { outcome: "answered", reason: "confident", explanation, ...facts };
}

function offNote({ isOff }: NonNullable<Answer["handoff"]>): string {
  return isOff ? " The agent hands nothing off." : "";
}

function explanationOf({ reason, failure }: NonNullable<Answer["handoff"]>, confidence: number, threshold: number): string {
  switch (reason) {
    case "customer_request":
      return "The visitor asked for a person.";
    case "missing_knowledge":
      return "Nothing that was found answers the question.";
    case "low_confidence":
      if (confidence === 0) return "Nothing that was found supports what the model wrote.";
      return `The confidence of ${shown(confidence)} is below the threshold of ${threshold}.`;
    case "unsupported_request":
      return "The question is not one that the agent may answer.";
    case "tool_failure":
      return "A tool failed, so that the model could not answer.";
    case "approval_required":
      return "The team has to approve a tool call.";
    case "approval_expired":
      return "Nobody on the team decided about a tool call in time.";
    case "model_failure":
      return failure === undefined ? "The service failed to make an answer." : `The model failed: ${failure}.`;
  }
}

/** Rounds down, so that a confidence just below the threshold does not look as if it reached the threshold. */
function shown(confidence: number): number {
  return Math.floor(confidence * 100) / 100;
}

function tracedSearch({ by, query, retrieval, durationMs }: Search & Pick<TracedSearch, "by">, answer: Answer): TracedSearch {
  const { previousQuestion, language, questionTerms, passages, curated } = retrieval;
  return {
    by,
    query: truncate(query, MAX_QUERY_LENGTH),
    previous_question: previousQuestion === null ? null : truncate(previousQuestion, MAX_QUERY_LENGTH),
    language,
    terms: questionTerms.slice(0, MAX_TERMS).map(({ term }) => truncate(term, MAX_TEXT_LENGTH)),
    passages: passages.map((passage) => tracedPassage(passage, answer)),
    answers: curated.map((match) => tracedAnswer(match, answer)),
    duration_ms: durationMs,
  };
}

function tracedPassage(passage: Passage, { citations }: Answer): TracedSearch["passages"][number] {
  const { sourceId, type, title, heading, url, content, score, scores } = passage;
  const snippet = snippetOf(content);
  return {
    source_id: sourceId,
    type,
    title: truncate(title, MAX_TEXT_LENGTH),
    heading: heading === null ? null : truncate(heading, MAX_TEXT_LENGTH),
    url: url === null ? null : truncate(url, MAX_URL_LENGTH),
    content: truncate(content, MAX_CONTENT_LENGTH),
    score,
    scores,
    is_cited: citations.some((citation) => citation.source_id === sourceId && citation.snippet === snippet),
  };
}

function tracedAnswer({ answerId, question, score }: CuratedMatch, { citations }: Answer): TracedSearch["answers"][number] {
  const isCited = citations.some((citation) => citation.type === "answer" && citation.source_id === answerId);
  return { answer_id: answerId, question: truncate(question, MAX_TEXT_LENGTH), score, is_cited: isCited };
}

/** Shortens a trace that is too large: first by the texts of its last passages, then by its last searches and tool calls. */
function bounded(trace: TraceFacts, maxBytes: number): TraceFacts {
  const isTooLarge = () => utf8Length(JSON.stringify(trace)) > maxBytes;
  const passages = trace.searches.flatMap((search) => search.passages);
  while (isTooLarge()) {
    const passage = passages.pop();
    if (passage) passage.content = "";
    else if (!trace.searches.pop() && !trace.tool_calls.pop()) break;
  }
  return trace;
}
