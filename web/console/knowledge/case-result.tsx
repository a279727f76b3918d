import type { ComponentChildren } from "preact";
import type { Schemas } from "../api.ts";
import { HANDOFF_WORDS } from "../inbox/words.tsx";
import { formatConfidence } from "../ui/format.tsx";
import { RichText } from "../ui/rich-text.tsx";
import { isConversation, type RunCase, type SourceName } from "./cases.ts";

type Verdict = NonNullable<RunCase["verdict"]>;
type Check = Schemas["EvaluationCheck"];
type Turn = Schemas["EvaluationCaseTurn"];

export const VERDICT_WORDS: Record<Verdict, string> = { right: "Right", wrong: "Wrong", refused: "Refused", failed: "Failed" };

export function VerdictTag({ verdict }: { verdict: RunCase["verdict"] }) {
  if (verdict === null) return <span class="status">Waiting</span>;
  return <span class={`status ${verdict === "right" ? "ready" : verdict === "refused" ? "" : "failed"}`}>{VERDICT_WORDS[verdict]}</span>;
}

interface Props {
  one: RunCase;
  sourceName: SourceName;
}

/** A case as a conversation: its messages, the tools that were called, and each expectation with its result. */
export function CaseResult({ one, sourceName }: Props) {
  const { persona, tools, checks, previous } = one;
  const isOfTurns = isConversation(one);
  const checksOf = (turn: number | null) => checks.filter((check) => check.turn === turn);
  return (
    <div class="stack case-result">
      {persona && (
        <p class="quiet plain">
          The language model plays a visitor. Goal: {persona.goal}
          {persona.facts && ` Facts: ${persona.facts}`}
        </p>
      )}
      {!isOfTurns && previous.map((text, at) => <Visitor key={at} text={text} />)}
      {turnsOf(one).map((turn, at) => (
        <TurnView key={at} turn={turn}>
          <Checks checks={checksOf(isOfTurns ? at : null)} sourceName={sourceName} />
        </TurnView>
      ))}
      {isOfTurns && one.end !== null && (
        <section class="case-end" aria-label="At the end">
          <p class="quiet">{END_WORDS[one.end]}</p>
          <Checks checks={checksOf(null)} sourceName={sourceName} />
        </section>
      )}
      {tools && Object.keys(tools).length > 0 && (
        <details>
          <summary>What the tools answer</summary>
          <dl class="facts">
            {Object.entries(tools).map(([name, answer]) => (
              <div key={name}>
                <dt>
                  <code>{name}</code>
                </dt>
                <dd>
                  <code>{typeof answer === "string" ? answer : JSON.stringify(answer)}</code>
                </dd>
              </div>
            ))}
          </dl>
        </details>
      )}
    </div>
  );
}

/** A turn of a case; without an answer if it has not run. */
type ShownTurn = Pick<Turn, "visitor" | "tool_calls" | "handoff_reason"> & { answer: string | null; confidence: number | null };

/** The turns of a case as they were run; until then, those that are known. */
function turnsOf({ transcript, turns, question, answer, confidence, trace, persona }: RunCase): ShownTurn[] {
  if (transcript.length > 0) return transcript;
  const notRun = { answer: null, confidence: null, handoff_reason: null, tool_calls: [] };
  if (turns) return turns.map(({ visitor }) => ({ ...notRun, visitor }));
  if (persona) return [];
  const calls = trace?.tool_calls.map(({ name, arguments: given }) => `${name} ${given}`) ?? [];
  return [{ visitor: question, answer, confidence, handoff_reason: trace && handoffReasonOf(trace.decision), tool_calls: calls }];
}

function handoffReasonOf({ reason }: Schemas["TraceDecision"]): Turn["handoff_reason"] {
  return reason === "curated_answer" || reason === "confident" ? null : reason;
}

function TurnView({ turn, children }: { turn: ShownTurn; children: ComponentChildren }) {
  const { visitor, answer, confidence, handoff_reason: reason, tool_calls: calls } = turn;
  return (
    <>
      <Visitor text={visitor} />
      {answer !== null && (
        <article class="message assistant">
          {calls.map((call, at) => (
            <p key={at} class="tool-call">
              Called <code>{call}</code>
            </p>
          ))}
          {answer === "" ? (
            <p class="quiet">The agent is silent: a person has the conversation.</p>
          ) : (
            <div class="bubble">
              <RichText text={answer} />
            </div>
          )}
          <footer>
            {answer !== "" && confidence !== null && <span>Confidence {formatConfidence(confidence)}</span>}
            {answer !== "" && reason && <span>Handed to the team: {HANDOFF_WORDS[reason]}</span>}
          </footer>
          {children}
        </article>
      )}
    </>
  );
}

function Visitor({ text }: { text: string }) {
  return (
    <article class="message user">
      <header>
        <strong>Visitor</strong>
      </header>
      <div class="bubble plain">{text}</div>
    </article>
  );
}

const END_WORDS: Record<NonNullable<RunCase["end"]>, string> = {
  all_turns: "All messages were written.",
  goal_reached: "The visitor has reached the goal.",
  gave_up: "The visitor gave up.",
  max_turns: "The visitor has written as many messages as the case allows.",
  handed_off: "A person of the team has the conversation.",
  failed: "The model failed, so the conversation was not finished.",
};

function Checks({ checks, sourceName }: { checks: readonly Check[]; sourceName: SourceName }) {
  if (checks.length === 0) return null;
  return (
    <ul class="checks">
      {checks.map((check, at) => (
        <li key={at}>
          <span class={`status ${check.holds ? "ready" : "failed"}`}>
            {check.holds === null ? "Not judged" : check.holds ? "Met" : "Not met"}
          </span>
          <div>
            <p>{checkText(check, sourceName)}</p>
            {check.reason && <p class="quiet">{check.reason}</p>}
          </div>
        </li>
      ))}
    </ul>
  );
}

/** Describes an expectation. */
function checkText({ kind, expected }: Check, sourceName: SourceName): ComponentChildren {
  switch (kind) {
    case "answered":
      return "Answers";
    case "handed_off":
      return "Hands over";
    case "handoff_reason":
      return `Hands over: ${HANDOFF_WORDS[expected as keyof typeof HANDOFF_WORDS]}`;
    case "source_id":
      return `Cites ${sourceName(expected)}`;
    case "answer_contains":
    case "said":
      return `Says “${expected}”`;
    case "not_said":
      return `Does not say “${expected}”`;
    case "tool_called":
      return (
        <>
          Calls <code>{expected}</code>
        </>
      );
    case "unexpected_tool":
      return `Makes ${expected}: the case has no answer for it`;
    case "goal_reached":
      return expected === "true" ? "The visitor reaches the goal" : "The visitor does not reach the goal";
    case "criterion":
      return expected;
  }
}
