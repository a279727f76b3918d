import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Attachment, textOfFiles } from "../../shared/attachments.ts";
import { ExternalLink } from "../../shared/markdown.tsx";
import { RichText } from "../ui/rich-text.tsx";
import { api, type Schemas } from "../api.ts";
import { Button } from "../ui/button.tsx";
import { useModule } from "../ui/lazy.tsx";
import { attempt } from "../ui/toast.tsx";
import { formatConfidence, Time } from "../ui/format.tsx";
import type { Sending } from "./composer.tsx";
import { fileTools } from "./file-tools.ts";
import { HANDOFF_WORDS } from "./words.tsx";

type Message = Schemas["Message"];

/** The list scrolls along with new messages if it is at most this far from its end. */
const AT_END_PX = 80;

/** The messages and notes of a conversation, scrolled to the latest. */
export function Transcript({ conversation, sending }: { conversation: Schemas["ConversationWithMessages"]; sending: readonly Sending[] }) {
  const { messages: latest, handoff } = conversation;
  const [earlier, setEarlier] = useState<readonly Message[]>([]);
  /** Whether further messages can be loaded. Until some were loaded it is undefined, and the conversation says so. */
  const [hasEarlier, setHasEarlier] = useState<boolean>();
  const scroller = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const known = new Set(latest.map(({ id }) => id));
  const messages = [...earlier.filter(({ id }) => !known.has(id)), ...latest];
  const last = messages.at(-1)?.id;
  const scrollToEnd = () => scroller.current?.scrollTo(0, scroller.current.scrollHeight);
  const sent = sending.at(-1)?.key;
  useLayoutEffect(() => {
    // The user's own message is always scrolled into view.
    if (sent !== undefined) isAtEnd.current = true;
  }, [sent]);
  useLayoutEffect(() => {
    if (isAtEnd.current) scrollToEnd();
  }, [last, sending.length]);
  useEffect(() => {
    // The composer grows with its text, and a phone's keyboard takes space.
    const observer = new ResizeObserver(() => isAtEnd.current && scrollToEnd());
    observer.observe(scroller.current!);
    return () => observer.disconnect();
  }, []);
  const loadEarlier = () =>
    attempt(async () => {
      const element = scroller.current!;
      const fromEnd = element.scrollHeight - element.scrollTop;
      const read = await readBefore(conversation.id, messages.length);
      setEarlier(read.messages);
      setHasEarlier(read.hasMore);
      requestAnimationFrame(() => element.scrollTo(0, element.scrollHeight - fromEnd));
    });
  return (
    <div
      class="transcript scroll"
      ref={scroller}
      tabIndex={0}
      role="log"
      aria-label="Messages"
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < AT_END_PX;
      }}
    >
      {(hasEarlier ?? conversation.has_more_messages) && (
        <p class="end">
          <Button variant="quiet" onClick={() => void loadEarlier()}>
            Show earlier messages
          </Button>
        </p>
      )}
      {messages.map((message, at) => (
        <MessageView
          key={message.id}
          message={message}
          reason={handoff !== null && messages[at - 1]?.id === handoff.trigger_message_id ? HANDOFF_WORDS[handoff.reason] : undefined}
          isTrial={conversation.channel === "playground"}
        />
      ))}
      {sending.map(({ key, content, isNote, attachments }) => (
        <article key={key} class={`message ${isNote ? "note" : "human"} is-sending`}>
          <header>Sending …</header>
          {content !== textOfFiles(attachments) && <div class="bubble">{content}</div>}
          <MessageFiles attachments={attachments} />
        </article>
      ))}
    </div>
  );
}

const PAGE_SIZE = 100;

/** Reads messages from the latest backwards, until there is at least one more than is shown. */
async function readBefore(conversationId: string, shown: number): Promise<{ messages: Message[]; hasMore: boolean }> {
  let cursor: string | undefined;
  let messages: Message[] = [];
  for (;;) {
    const page = await api.listMessages({ conversation_id: conversationId, limit: PAGE_SIZE, cursor });
    messages = [...page.data, ...messages];
    cursor = page.next_cursor ?? undefined;
    if (cursor === undefined || messages.length > shown) return { messages, hasMore: cursor !== undefined };
  }
}

const AUTHOR_WORDS: Record<Message["role"], string> = { user: "Visitor", assistant: "Agent", human: "Team", note: "Note", system: "" };

/** @param reason why the message hands the conversation to the team, if that is known. @param isTrial whether the conversation is from the playground, where nobody is waiting for a reply. */
function MessageView({ message, reason, isTrial }: { message: Message; reason: string | undefined; isTrial: boolean }) {
  const { role, author, content, attachments, created_at: at } = message;
  if (role === "system")
    return (
      <p class="system-message">
        {content} · <Time at={at} />
      </p>
    );
  return (
    <article class={`message ${role}`}>
      <header>
        <strong>{author.name || AUTHOR_WORDS[role]}</strong>
        {role === "note" && <span class="tag">Note</span>}
        <Time at={at} />
      </header>
      {content !== textOfFiles(attachments) && (
        <div class="bubble">{role === "user" ? <p class="plain">{content}</p> : <RichText text={content} />}</div>
      )}
      <MessageFiles attachments={attachments} />
      {role === "assistant" && <AnswerFacts message={message} reason={reason} isTrial={isTrial} />}
    </article>
  );
}

function MessageFiles({ attachments }: { attachments: readonly Attachment[] }) {
  const tools = fileTools.value;
  return tools ? <tools.Files attachments={attachments} label="Files" /> : null;
}

/** The confidence and the sources of an answer. */
function AnswerFacts({ message, reason, isTrial }: { message: Message; reason: string | undefined; isTrial: boolean }) {
  const [isAsking, setAsking] = useState(false);
  const trace = useModule(() => import("../trace.tsx"), isAsking);
  const { citations, confidence, needs_human: needsHuman } = message;
  return (
    <footer>
      {confidence !== null && <span title="How sure the agent was, from 0 to 1">Confidence {formatConfidence(confidence)}</span>}
      {needsHuman && <span>{`${isTrial ? "Would be handed" : "Handed"} to the team${reason ? `: ${reason}` : ""}`}</span>}
      {citations.map((citation, at) =>
        citation.url ? (
          <ExternalLink key={at} href={citation.url}>
            {citation.title}
          </ExternalLink>
        ) : (
          <span key={at}>{citation.title}</span>
        ),
      )}
      <Button variant="quiet" onClick={() => setAsking(true)}>
        Why this answer
      </Button>
      {isAsking && trace && (
        <trace.WhyDialog conversationId={message.conversation_id} messageId={message.id} onClose={() => setAsking(false)} />
      )}
    </footer>
  );
}
