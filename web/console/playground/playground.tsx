import { useEffect, useRef, useState } from "preact/hooks";
import { Link, useLocation } from "wouter-preact";
import { AgentPicker, chooseAgent, useChosenAgent } from "../agents.tsx";
import { api, type Schemas } from "../api.ts";
import { useShortcuts } from "../keyboard.ts";
import { useQuery } from "../query.ts";
import { hasScope } from "../session.ts";
import { AnswerTrace } from "../trace.tsx";
import { Button } from "../ui/button.tsx";
import { PageFrame } from "../ui/page.tsx";
import { Empty, ErrorState, Loaded, NeedsScope, Skeleton } from "../ui/states.tsx";
import { AnswerView } from "./answer.tsx";
import { type Asked, type PlaygroundConversation, type TriedSettings, usePlaygroundConversation } from "./conversation.ts";
import { SettingsToTry } from "./settings-to-try.tsx";

/** The settings with which the answers are compared, by the path of the page. */
const COMPARISONS = { "/settings": "settings", "/draft": "draft" } as const;
type Comparison = (typeof COMPARISONS)[keyof typeof COMPARISONS];

/** The headings of the two answers. */
const SIDES: Record<Comparison, readonly [own: string, other: string]> = {
  settings: ["As it is", "With the settings to try"],
  draft: ["As it is", "Draft"],
};

/** Asks an agent as a visitor would, and explains its answers. A second column can show the answers with other settings or the draft. */
export function Playground() {
  const { agents, agent, agentId } = useChosenAgent();
  const [path, navigate] = useLocation();
  const canCompare = hasScope("agents:write") && hasScope("agents:read");
  const comparison = canCompare ? COMPARISONS[path as keyof typeof COMPARISONS] : undefined;
  const [tried, setTried] = useState<TriedSettings>({});
  const [draft, setDraft] = useState<Draft>();
  const [text, setText] = useState("");
  const threshold = agent?.confidence_threshold;
  const own = usePlaygroundConversation({ agentId, threshold });
  const other = usePlaygroundConversation({
    agentId,
    ...(comparison === "draft"
      ? { threshold: draft?.settings.confidence_threshold, version: "draft" }
      : { threshold: tried.confidence_threshold ?? threshold, settings: tried }),
  });
  const field = useRef<HTMLTextAreaElement>(null);
  useShortcuts({ "/": () => field.current?.focus() });
  const beginAnew = () => {
    own.clear();
    other.clear();
  };
  const choose = (id: string) => {
    chooseAgent(id);
    setTried({});
    setDraft(undefined);
    beginAnew();
  };
  const compare = (to: Comparison) => navigate(comparison === to ? "/" : `/${to}`);
  useEffect(() => {
    // The last question is proposed again, to compare its answers.
    setText(text || (own.asked.at(-1)?.question ?? ""));
    beginAnew();
  }, [comparison]);
  const isAsking = own.isAsking || other.isAsking;
  const ask = async (question: string) => {
    await Promise.all([own.ask(question), comparison && other.ask(question)]);
    // The user may be changing the settings to try by now.
    if (document.activeElement === document.body) field.current?.focus();
  };
  return (
    <PageFrame
      title="Playground"
      actions={
        <div class="actions">
          <AgentPicker label="Agent" value={agentId} onChange={choose} />
          {canCompare && (
            <>
              <Button aria-pressed={comparison === "settings"} disabled={agentId === ""} onClick={() => compare("settings")}>
                Compare settings
              </Button>
              <Button aria-pressed={comparison === "draft"} disabled={agentId === ""} onClick={() => compare("draft")}>
                Compare the draft
              </Button>
            </>
          )}
          <Button disabled={own.asked.length === 0 || isAsking} onClick={beginAnew}>
            New conversation
          </Button>
        </div>
      }
    >
      {agents.data === undefined && agents.error !== undefined && <ErrorState error={agents.error} retry={agents.reload} />}
      {comparison === "settings" && <Settings key={agentId} agentId={agentId} tried={tried} onChange={setTried} onSaved={agents.reload} />}
      {comparison === "draft" && agentId !== "" && <DraftToTry key={agentId} agentId={agentId} onRead={setDraft} />}
      <div class="playground">
        <section class="stack" aria-label="Conversation">
          {own.asked.length === 0 && <Start isComparing={comparison !== undefined} hasAgent={agents.data?.length !== 0} />}
          {own.asked.map(({ question }, at) => (
            <Round key={at} agentId={agentId} question={question} at={at} own={own} other={other} comparison={comparison} />
          ))}
          <Ask
            fieldRef={field}
            isReady={agentId !== "" && (comparison !== "draft" || draft !== undefined)}
            isBusy={isAsking}
            text={text}
            onText={setText}
            onAsk={(question) => void ask(question)}
          />
        </section>
        {!comparison && hasScope("conversations:read") && own.asked.length > 0 && <Why asked={own.asked.at(-1)!} />}
      </div>
    </PageFrame>
  );
}

function Start({ isComparing, hasAgent }: { isComparing: boolean; hasAgent: boolean }) {
  if (!hasAgent)
    return (
      <NeedsScope scope="agents:read">
        <Empty title="There is no agent yet">An agent answers what is asked here. Create one in the settings.</Empty>
      </NeedsScope>
    );
  return isComparing ? (
    <Empty title="Ask one question, read two answers">See what a change does before visitors do.</Empty>
  ) : (
    <Empty title="Ask what your customers ask">
      The answer appears with what it rests on, how sure the agent is, and why it was given or refused.
    </Empty>
  );
}

interface SettingsProps {
  agentId: string;
  tried: TriedSettings;
  onChange: (tried: TriedSettings) => void;
  onSaved: () => void;
}

/** The settings to try, once those of the agent have been read. */
function Settings({ agentId, tried, onChange, onSaved }: SettingsProps) {
  const query = useQuery(agentId, async (signal) => (await api.getAgent({ agent_id: agentId }, { signal })) as Schemas["AgentSettings"]);
  const saved = (agent: Schemas["AgentSettings"]) => {
    query.set(agent);
    onChange({});
    onSaved();
  };
  return (
    <Loaded query={query} rows={4}>
      {(agent) => <SettingsToTry agent={agent} tried={tried} onChange={onChange} onSaved={saved} />}
    </Loaded>
  );
}

type Draft = Schemas["AgentVersionWithSettings"];

/** Says which draft answers beside the published version. */
function DraftToTry({ agentId, onRead }: { agentId: string; onRead: (draft: Draft) => void }) {
  const query = useQuery(agentId, (signal) => api.getAgentVersion({ agent_id: agentId, version: "draft" }, { signal }));
  useEffect(() => query.data && onRead(query.data), [query.data]);
  return (
    <Loaded query={query} rows={1}>
      {({ changed_fields: changed }) => (
        <p class="banner">
          {changed.length === 0
            ? "The draft is still the same as the published version."
            : "Each question is asked twice: of the agent as it is, and of its draft."}
          <Link href={`~/settings/agents/${agentId}/versions`}>Change or publish the draft</Link>
        </p>
      )}
    </Loaded>
  );
}

interface RoundProps {
  agentId: string;
  question: string;
  at: number;
  own: PlaygroundConversation;
  /** The same questions with other settings, or of the draft. */
  other: PlaygroundConversation;
  comparison: Comparison | undefined;
}

/** A question with its answer, or with two answers to compare. */
function Round({ agentId, question, at, own, other, comparison }: RoundProps) {
  const [ownTitle, otherTitle] = comparison ? SIDES[comparison] : [];
  return (
    <>
      <article class="message user">
        <div class="bubble plain">{question}</div>
      </article>
      {comparison ? (
        <div class="columns">
          <section class="side" aria-label={ownTitle}>
            <h2 class="figure-name">{ownTitle}</h2>
            <AnswerView agentId={agentId} conversation={own} at={at} hasExplanation />
          </section>
          <section class="side" aria-label={otherTitle}>
            <h2 class="figure-name">{otherTitle}</h2>
            <AnswerView agentId={agentId} conversation={other} at={at} hasExplanation hasSaving={false} />
          </section>
        </div>
      ) : (
        <AnswerView agentId={agentId} conversation={own} at={at} />
      )}
    </>
  );
}

/** Explains the last answer. */
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
  isReady,
  isBusy,
  text,
  onText,
  onAsk,
}: {
  fieldRef: { current: HTMLTextAreaElement | null };
  /** Whether an agent has been selected and, to compare it with its draft, that has been read. */
  isReady: boolean;
  isBusy: boolean;
  text: string;
  onText: (text: string) => void;
  onAsk: (question: string) => void;
}) {
  const [isWaiting, setWaiting] = useState(false);
  const submit = () => {
    if (text.trim() === "") return;
    const mustWait = isBusy || !isReady;
    setWaiting(mustWait);
    if (mustWait) return;
    onAsk(text.trim());
    onText("");
  };
  useEffect(() => {
    if (isWaiting && isReady && !isBusy) submit();
  }, [isWaiting, isReady, isBusy]);
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
        onInput={({ currentTarget }) => {
          setWaiting(false);
          onText(currentTarget.value);
        }}
        onKeyDown={(event) => {
          if (event.key === "Escape") event.currentTarget.blur();
          // 229 is the code of a key that an input method uses, by which alone Safari tells it.
          if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.keyCode !== 229) {
            event.preventDefault();
            submit();
          }
        }}
      />
      <div class="actions">
        <span class={isWaiting ? "quiet grow" : "hint"} role="status">
          {isWaiting ? (
            "The question is sent as soon as the agent is ready."
          ) : (
            <>
              <kbd>Enter</kbd> asks
            </>
          )}
        </span>
        <Button variant="primary" type="submit" isBusy={isBusy || isWaiting} disabled={text.trim() === ""}>
          Ask
        </Button>
      </div>
    </form>
  );
}
