import { useState } from "preact/hooks";
import { Link } from "wouter-preact";
import { ExternalLink } from "../../shared/markdown.tsx";
import type { Schemas } from "../api.ts";
import { HANDOFF_WORDS } from "../inbox/words.tsx";
import type { SavedCase } from "../knowledge/case-target.tsx";
import { hasScope } from "../session.ts";
import { WhyDialog } from "../trace.tsx";
import { Button } from "../ui/button.tsx";
import { RichText } from "../ui/rich-text.tsx";
import { formatConfidence } from "../ui/format.tsx";
import { showMessage } from "../ui/toast.tsx";
import { type Asked, type PlaygroundConversation, questionsOf } from "./conversation.ts";
import { SaveAnswer } from "./save-answer.tsx";
import { SaveCase } from "./save-case.tsx";

interface Props {
  agentId: string;
  conversation: PlaygroundConversation;
  /** The position of the answer in the conversation. */
  at: number;
  /** Whether the view has a button that explains the answer. */
  hasExplanation?: boolean;
  /** Whether the view has buttons that save the question as a case or as a curated answer. */
  hasSaving?: boolean;
}

/** An answer with its confidence and actions. */
export function AnswerView({ agentId, conversation: { asked, isAsking, retry }, at, hasExplanation = false, hasSaving = true }: Props) {
  const [isExplaining, setExplaining] = useState(false);
  const one = asked[at];
  if (!one) return null;
  const { text, answer, error } = one;
  const isLast = at === asked.length - 1;
  const isOpen = isAsking && isLast;
  return (
    <article class="message assistant" aria-busy={isOpen}>
      {(text !== "" || !error) && (
        <div class="bubble">{text === "" ? <span class="quiet">…</span> : <RichText text={text} isOpen={isOpen} />}</div>
      )}
      {error && (
        <p class="field-error" role="alert">
          {error}{" "}
          {isLast && (
            <Button variant="quiet" disabled={isOpen} onClick={() => void retry()}>
              Ask again
            </Button>
          )}
        </p>
      )}
      {answer && (
        <footer>
          <Verdict answer={answer} threshold={one.threshold} />
          {hasExplanation && hasScope("conversations:read") && answer.message_id && (
            <Button variant="quiet" onClick={() => setExplaining(true)}>
              Why this answer
            </Button>
          )}
          {hasSaving && <Saving agentId={agentId} asked={one} answer={answer} previous={questionsOf(asked.slice(0, at))} />}
        </footer>
      )}
      {isExplaining && answer?.message_id && (
        <WhyDialog conversationId={answer.conversation_id} messageId={answer.message_id} onClose={() => setExplaining(false)} />
      )}
    </article>
  );
}

interface SavingProps {
  agentId: string;
  asked: Asked;
  answer: Schemas["ChatAnswer"];
  /** The questions before this one. */
  previous: readonly string[];
}

/** The buttons that save a question as a curated answer or as a case of an evaluation. */
function Saving({ agentId, asked: { question, text }, answer, previous }: SavingProps) {
  const [opened, setOpened] = useState<"answer" | "case">();
  const [saved, setSaved] = useState<SavedCase>();
  const close = () => setOpened(undefined);
  const onSaved = (one: SavedCase) => {
    setSaved(one);
    close();
    showMessage("Saved as a case");
  };
  if (!hasScope("knowledge:write")) return null;
  return (
    <>
      <Button variant="quiet" onClick={() => setOpened("answer")}>
        Save as a curated answer
      </Button>
      {hasScope("knowledge:read") && !saved && (
        <Button variant="quiet" onClick={() => setOpened("case")}>
          Save as a case
        </Button>
      )}
      {saved && <Link href={saved.href}>Saved in “{saved.name}”</Link>}
      {opened === "answer" && <SaveAnswer agentId={agentId} question={question} answer={answer.needs_human ? "" : text} onClose={close} />}
      {opened === "case" && <SaveCase agentId={agentId} question={question} previous={previous} onSaved={onSaved} onClose={close} />}
    </>
  );
}

/** The confidence of an answer, whether it would be handed to the team, and its sources. */
function Verdict({ answer, threshold }: { answer: Schemas["ChatAnswer"]; threshold: number | undefined }) {
  const { confidence, needs_human: needsHuman, handoff_reason: reason, citations } = answer;
  const limit = threshold === undefined ? "" : ` (threshold ${threshold})`;
  return (
    <>
      <span>
        Confidence {formatConfidence(confidence)}
        {limit}
      </span>
      {needsHuman && <span class="status failed">Would be handed to the team{reason && `: ${HANDOFF_WORDS[reason]}`}</span>}
      {citations.map(({ title, url, source_id: id }, at) =>
        url ? (
          <ExternalLink key={at} href={url}>
            {at + 1} {title}
          </ExternalLink>
        ) : (
          <span key={at} title={id}>
            {at + 1} {title}
          </span>
        ),
      )}
    </>
  );
}
