import { type BusinessHours, type HandoffReason, UNANSWERED_REASONS } from "../platform/db/columns.ts";
import { HANDOFF_SUMMARY_LENGTH } from "../conversations/status.ts";
import type { Citation } from "../knowledge/search-wire.ts";
import type { AgentRow } from "../agents/wire.ts";
import { closedMessageOf, handoffMessageOf, handoffOffMessageOf, ownWelcome } from "../agents/messages.ts";
import { STRONG_MATCH } from "../knowledge/retrieval/curated-answers.ts";
import { titleOf } from "../knowledge/search.ts";
import { humanRequestLanguage, smallTalkAnswer, smallTalkOf } from "../text/intents.ts";
import {
  HandoffError,
  type HistoryMessage,
  type Model,
  type ModelObserver,
  type ModelReply,
  type SentFile,
  SMALL_TALK_CONFIDENCE,
  type Tool,
  type ToolRound,
  TurnSuspendedError,
} from "../models/model.ts";
import { answerPassage, type CitablePassage, type CuratedMatch, type Retrieval } from "../models/retrieval.ts";
import { describeFailure } from "../models/stream-with-retry.ts";
import { logProblem } from "../platform/telemetry/log.ts";
import { shortened, truncate } from "../platform/text.ts";
import type { RoutingText } from "../routing/assignment.ts";
import { detectLanguage, languageCode } from "../text/languages.ts";
import { hasPhrase } from "../text/phrases.ts";
import { openingAt } from "../workspaces/business-hours.ts";
import type { Question } from "./question.ts";

/** How many characters of a passage a citation shows. */
const SNIPPET_LENGTH = 300;

/** The answer that a visitor gets to a question. */
export interface Answer {
  text: string;
  citations: Citation[];
  confidence: number;
  /** The confidence before the first text of the model, which was compared with the threshold. */
  openingConfidence?: number;
  /** Whether it answers small talk in place of the model. */
  isSmallTalk?: true;
  /** Why a human is needed; null if the agent has answered. */
  handoff: Handoff | null;
}

interface Handoff {
  reason: HandoffReason;
  summary: string;
  /** How the model failed, if this is the reason and the failure is known. */
  failure?: string;
  /** Whether no human is asked, because the agent never hands off. */
  isOff: boolean;
  /** When the team opens next, Unix milliseconds; null if it is there. */
  opensAtMs: number | null;
  /** What the visitor wrote, by which it is routed. */
  routingText: RoutingText;
}

/** What a hand-off tells its visitor about the team. */
export interface Team {
  hours: BusinessHours;
  /** Whether contact details of the visitor are known. */
  hasContact: boolean;
  nowMs: number;
}

/** A question with everything that answering it needs. */
export interface AnswerRequest {
  question: Pick<Question, "workspaceId" | "conversationId" | "message">;
  agent: AgentRow;
  /** The messages before the question, oldest first. */
  history: HistoryMessage[];
  retrieval: Retrieval;
  tools: Tool[];
  /** The earlier rounds of a turn that waited for the results of tools. */
  rounds?: readonly ToolRound[] | undefined;
  /** The files of the question. */
  files?: readonly SentFile[];
  /** The names of some of the agent's sources. */
  topics: string[];
  /** Without it, the team is there. */
  team?: Team;
  /** Records how the answer is made. */
  observer?: ModelObserver;
}

/**
 * Makes the agent's answer to a question. If a curated question is nearly the same, its answer is used; otherwise the model answers.
 * The answer is the hand-off message if the visitor asks for a human or uses one of the agent's words for it, or sends only files that the
 * model does not see, if nothing answers the question, the confidence is too low, or the model fails. Small talk is answered even then.
 * @param onText receives the pieces of the model's answer, once it is certain that the visitor gets it. It must not throw.
 * @throws TurnSuspendedError if the model called tools whose results come later.
 */
export async function makeAnswer(model: Model, request: AnswerRequest, onText: (text: string) => void): Promise<Answer> {
  const { question, agent, retrieval } = request;
  if (isUnseenFiles(request)) return handoffAnswer(request, "missing_knowledge", 0);
  const requestLanguage = humanRequestLanguage(question.message, agent.language);
  if (requestLanguage) return handoffAnswer(request, "customer_request", 0, requestLanguage);
  if (hasPhrase(question.message, agent.handoffWords)) return handoffAnswer(request, "customer_request", 0);
  const [curated] = retrieval.curated;
  if (curated && curated.score >= STRONG_MATCH) return curatedAnswer(curated);
  const opening = await askModel(model, request);
  if (opening.outcome === "answered" && opening.confidence >= agent.confidenceThreshold) return readAnswer(request, opening, onText);
  if (opening.outcome === "answered") await opening.text.return?.();
  const isRefused = opening.outcome === "handed_off" && !UNANSWERED_REASONS.includes(opening.reason);
  const smallTalk = isRefused ? undefined : answerToSmallTalk(request);
  if (smallTalk) return smallTalk;
  if (opening.outcome === "failed") return failureAnswer(request, opening.failure);
  if (opening.outcome === "no_answer") return handoffAnswer(request, "missing_knowledge", opening.confidence);
  if (opening.outcome === "handed_off") return handoffAnswer(request, opening.reason, opening.confidence);
  return handoffAnswer(request, "low_confidence", opening.confidence);
}

/** Answers small talk without the model; undefined for any other message, and for one that may answer a question, as "yes" does. */
function answerToSmallTalk({ question: { message: question }, files = [], agent, topics }: AnswerRequest): Answer | undefined {
  const kind = smallTalkOf(question, agent.language)?.kind;
  if (!kind || kind === "agreement" || kind === "unclear" || files.length > 0) return undefined;
  const text = smallTalkAnswer({ ...settingsOf(agent), topics, question })!;
  return { text, citations: [], confidence: SMALL_TALK_CONFIDENCE, isSmallTalk: true, handoff: null };
}

/** Whether a question has only files, of which the model sees none: its text is their names, as the chat and the console write it. */
function isUnseenFiles({ question, files = [] }: AnswerRequest): boolean {
  const names = files.map(({ name }) => name).join(", ");
  return files.length > 0 && question.message === names && files.every(({ image }) => image === undefined);
}

/** Returns the answer to a question that the service failed to answer. It hands the conversation to a human. */
export function failureAnswer(request: HandoffRequest, failure?: string): Answer {
  const { handoff, ...answer } = handoffAnswer(request, "model_failure", 0);
  return { ...answer, handoff: handoff && { ...handoff, ...(failure !== undefined && { failure }) } };
}

/** Returns the settings of an agent that shape its texts. */
function settingsOf(agent: AgentRow) {
  const { name: agentName, model: modelName, instructions, language } = agent;
  return { agentName, modelName, instructions, language, welcomeMessage: ownWelcome(agent) ?? "" };
}

/** Asks the model. A failure is returned and not thrown, because the visitor then gets a human and not an error. */
async function askModel(model: Model, request: AnswerRequest): Promise<ModelReply | { outcome: "failed"; failure: string }> {
  const { question, files = [], agent, history, retrieval, tools, rounds, topics, observer } = request;
  try {
    return await model.answer({
      ...settingsOf(agent),
      topics,
      question: question.message,
      files,
      history,
      retrieval,
      tools,
      rounds,
      observer,
    });
  } catch (error) {
    if (error instanceof TurnSuspendedError) throw error;
    return { outcome: "failed", failure: logFailure(question, error) };
  }
}

/** Reads an answer to its end. If the answer breaks off, the hand-off message is added to the text that the visitor has seen. */
async function readAnswer(
  request: AnswerRequest,
  opening: Extract<ModelReply, { outcome: "answered" }>,
  onText: (text: string) => void,
): Promise<Answer> {
  const { confidence: openingConfidence } = opening;
  let text = "";
  try {
    for await (const piece of opening.text) {
      text += piece;
      onText(piece);
    }
  } catch (error) {
    if (error instanceof TurnSuspendedError) throw new TurnSuspendedError(error.rounds, text);
    const end =
      error instanceof HandoffError ? handoffAnswer(request, error.reason, 0) : failureAnswer(request, logFailure(request.question, error));
    return continuing(text, end);
  }
  return { text, citations: opening.cited.map(toCitation), confidence: opening.confidence, openingConfidence, handoff: null };
}

/** Returns an answer that follows a text which the visitor has seen. */
export function continuing(seen: string, answer: Answer): Answer {
  return seen === "" ? answer : { ...answer, text: `${seen}\n\n${answer.text}` };
}

/** Logs a failure of the model, and returns its description. */
function logFailure({ workspaceId, conversationId }: AnswerRequest["question"], error: unknown): string {
  const detail = describeFailure(error);
  logProblem("model_failure", { workspace_id: workspaceId, conversation_id: conversationId, detail });
  return detail;
}

function curatedAnswer(curated: CuratedMatch): Answer {
  const { answer, score } = curated;
  return { text: answer, citations: [toCitation(answerPassage(curated))], confidence: score, handoff: null };
}

type HandoffRequest = Pick<AnswerRequest, "question" | "agent" | "history" | "team">;

/**
 * Returns the answer that hands a question to a human. If the agent never hands off, the answer says so.
 * @param language the language of the hand-off message; by default that of the visitor's message.
 */
export function handoffAnswer(
  { question, agent, history, team }: HandoffRequest,
  reason: HandoffReason,
  confidence: number,
  language?: string,
): Answer {
  const summary = truncate(question.message, HANDOFF_SUMMARY_LENGTH);
  const texts = lastVisitorMessages(question.message, history);
  const spoken = language ?? visitorLanguage(texts, agent.language);
  const isOff = agent.handoff === "off";
  const { text, opensAtMs } = handoffTextOf(agent, reason, spoken, team);
  return {
    text,
    citations: [],
    confidence,
    handoff: { reason, summary, isOff, opensAtMs, routingText: { texts, language: languageCode(spoken) } },
  };
}

/**
 * Returns what a visitor reads when a human is needed, and when the team opens next; null if it is there.
 * @param team without it, the team is there.
 */
export function handoffTextOf(
  agent: AgentRow,
  reason: HandoffReason,
  language: string,
  team?: Team,
): { text: string; opensAtMs: number | null } {
  const lacksContact = !team?.hasContact;
  if (agent.handoff === "off") {
    return { text: handoffOffMessageOf(agent, language, lacksContact && agent.contactForm !== null), opensAtMs: null };
  }
  const opening = team && openingAt(team.hours, team.nowMs);
  if (!opening || opening.isOpen) return { text: handoffMessageOf(agent, reason, language), opensAtMs: null };
  const asksContact = lacksContact && team.hours.ask_contact_details;
  return { text: closedMessageOf(team.hours, { ...opening, nowMs: team.nowMs, language, asksContact }), opensAtMs: opening.opensAtMs };
}

/** Returns the visitor's message and the visitor's previous message, newest first. */
function lastVisitorMessages(message: string, history: readonly HistoryMessage[]): string[] {
  const before = history.findLast(({ role }) => role === "visitor");
  return before ? [message, before.text] : [message];
}

/** Returns the language of the newest message whose language can be detected, otherwise the language of the agent. */
export function visitorLanguage(written: readonly string[], agentLanguage: string): string {
  for (const text of written) {
    const language = detectLanguage(text, agentLanguage);
    if (language !== undefined) return language;
  }
  return agentLanguage;
}

function toCitation(passage: CitablePassage): Citation {
  const { url, type, content, score } = passage;
  return { title: titleOf(passage), url, source_id: passage.sourceId, type, snippet: snippetOf(content), score };
}

/** Returns the beginning of a passage, as a citation shows it. */
export function snippetOf(content: string): string {
  return shortened(content, SNIPPET_LENGTH);
}
