import { useEffect, useRef, useState } from "preact/hooks";
import { Link } from "wouter-preact";
import { RichText } from "../ui/rich-text.tsx";
import { api, errorText, type Schemas } from "../api.ts";
import { AgentPicker, chooseAgent, useChosenAgent } from "../agents.tsx";
import { useShortcuts } from "../keyboard.ts";
import { HANDOFF_WORDS } from "../inbox/words.tsx";
import { hasScope } from "../session.ts";
import { AnswerTrace } from "../trace.tsx";
import { Button } from "../ui/button.tsx";
import { PageFrame } from "../ui/page.tsx";
import { Empty, Skeleton } from "../ui/states.tsx";
import { say } from "../ui/toast.tsx";
import { SaveAnswer } from "./save-answer.tsx";
import { SaveCase, type SavedCase } from "./save-case.tsx";

/** A question that was asked here, and its answer as far as it has come. */
interface Asked {
  question: string;
  text: string;
  answer?: Schemas["ChatAnswer"];
  error?: string;
}

/** Asks an agent as a visitor would, and shows why it answered so. */
export function Playground() {
  const { agent, agentId } = useChosenAgent();
  const [asked, setAsked] = useState<readonly Asked[]>([]);
  const [isAsking, setAsking] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  useShortcuts({ "/": ["Ask", () => field.current?.focus()] });
  const beginAnew = (id: string) => {
    chooseAgent(id);
    setAsked([]);
  };
  const ask = async (question: string) => {
    const before = asked;
    const show = (one: Asked) => setAsked([...before, one]);
    const conversationId = before.findLast(({ answer }) => answer)?.answer?.conversation_id;
    let one: Asked = { question, text: "" };
    show(one);
    setAsking(true);
    try {
      for await (const event of api.streamAnswer({
        agent_id: agentId,
        body: { message: question, conversation_id: conversationId ?? null, channel: "playground" },
      })) {
        if (event.type === "start") one = { ...one, text: "" };
        if (event.type === "delta") one = { ...one, text: one.text + event.text };
        if (event.type === "done") one = { ...one, text: event.answer.answer, answer: event.answer };
        show(one);
      }
    } catch (error) {
      show({ ...one, error: errorText(error) });
    }
    setAsking(false);
    field.current?.focus();
  };
  return (
    <PageFrame
      title="Playground"
      actions={
        <div class="actions">
          <AgentPicker label="Agent" value={agentId} onChange={beginAnew} />
          <Button disabled={asked.length === 0 || isAsking} onClick={() => beginAnew(agentId)}>
            New conversation
          </Button>
        </div>
      }
    >
      <div class="playground">
        <section class="stack" aria-label="Conversation">
          {asked.length === 0 && (
            <Empty title="Ask what your customers ask">
              The answer appears with what it rests on, how sure the agent is, and why it was given or refused.
            </Empty>
          )}
          {asked.map((one, at) => (
            <AskedView
              key={at}
              asked={one}
              previous={questionsOf(asked.slice(0, at))}
              threshold={agent?.confidence_threshold}
              isOpen={isAsking && at === asked.length - 1}
              agentId={agentId}
            />
          ))}
          <Ask fieldRef={field} isBusy={isAsking || agentId === ""} onAsk={(question) => void ask(question)} />
        </section>
        {hasScope("conversations:read") && asked.length > 0 && <Why asked={asked.at(-1)!} />}
      </div>
    </PageFrame>
  );
}

/** A case takes so many of the questions before it. */
const MAX_PREVIOUS = 10;

/** What the agent was asked, and has answered or handed over. */
function questionsOf(asked: readonly Asked[]): string[] {
  return asked
    .filter(({ answer }) => answer)
    .map(({ question }) => question)
    .slice(-MAX_PREVIOUS);
}

/** Why the last answer was given. */
function Why({ asked: { answer, error } }: { asked: Asked }) {
  return (
    <aside class="stack" aria-label="Why this answer">
      <h2>Why this answer</h2>
      {answer?.message_id && <AnswerTrace conversationId={answer.conversation_id} messageId={answer.message_id} />}
      {!answer && !error && <Skeleton />}
    </aside>
  );
}

function Ask({
  fieldRef,
  isBusy,
  onAsk,
}: {
  fieldRef: { current: HTMLTextAreaElement | null };
  isBusy: boolean;
  onAsk: (question: string) => void;
}) {
  const [text, setText] = useState("");
  const submit = () => {
    if (text.trim() === "" || isBusy) return;
    onAsk(text.trim());
    setText("");
  };
  useEffect(() => fieldRef.current?.focus(), []);
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <textarea
        ref={fieldRef}
        aria-label="Question"
        placeholder="How long do refunds take?"
        rows={2}
        maxLength={2000}
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") event.currentTarget.blur();
          if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
            event.preventDefault();
            submit();
          }
        }}
      />
      <div class="actions">
        <span class="hint">
          <kbd>Enter</kbd> asks
        </span>
        <Button variant="primary" type="submit" isBusy={isBusy} disabled={text.trim() === ""}>
          Ask
        </Button>
      </div>
    </form>
  );
}

interface AskedProps {
  asked: Asked;
  /** What was asked before it. */
  previous: readonly string[];
  threshold: number | undefined;
  isOpen: boolean;
  agentId: string;
}

function AskedView({ asked: { question, text, answer, error }, previous, threshold, isOpen, agentId }: AskedProps) {
  const [saving, setSaving] = useState<"answer" | "case">();
  const [saved, setSaved] = useState<SavedCase>();
  const close = () => setSaving(undefined);
  return (
    <>
      <article class="message user">
        <div class="bubble plain">{question}</div>
      </article>
      <article class="message assistant" aria-busy={isOpen}>
        <div class="bubble">{text === "" && !error ? <span class="quiet">…</span> : <RichText text={text} isOpen={isOpen} />}</div>
        {error && (
          <p class="field-error" role="alert">
            {error}
          </p>
        )}
        {answer && (
          <footer>
            <Verdict answer={answer} threshold={threshold} />
            {hasScope("knowledge:write") && (
              <Button variant="quiet" onClick={() => setSaving("answer")}>
                Teach an answer
              </Button>
            )}
            {hasScope("knowledge:write") && hasScope("knowledge:read") && !saved && (
              <Button variant="quiet" onClick={() => setSaving("case")}>
                Save as a case
              </Button>
            )}
            {saved && <Link href={saved.href}>Saved in “{saved.name}”</Link>}
          </footer>
        )}
      </article>
      {saving === "answer" && <SaveAnswer agentId={agentId} question={question} answer={answer?.needs_human ? "" : text} onClose={close} />}
      {saving === "case" && (
        <SaveCase
          agentId={agentId}
          question={question}
          previous={previous}
          onSaved={(one) => {
            setSaved(one);
            close();
            say("The question is a case now");
          }}
          onClose={close}
        />
      )}
    </>
  );
}

/** Why the answer was given, or handed over. */
function Verdict({ answer, threshold }: { answer: Schemas["ChatAnswer"]; threshold: number | undefined }) {
  const { confidence, needs_human: needsHuman, handoff_reason: reason, citations } = answer;
  const limit = threshold === undefined ? "" : ` (the agent answers from ${threshold} on)`;
  return (
    <>
      <span>
        Confidence {confidence.toFixed(2)}
        {limit}
      </span>
      {needsHuman && <span class="status failed">{reason ? HANDOFF_WORDS[reason] : "Handed to the team"}</span>}
      {citations.map(({ title, url, source_id: id }, at) =>
        url ? (
          <a key={at} href={url} target="_blank" rel="noopener noreferrer nofollow">
            {at + 1} {title}
          </a>
        ) : (
          <span key={at} title={id}>
            {at + 1} {title}
          </span>
        ),
      )}
    </>
  );
}
