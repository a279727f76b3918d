import { type ReadonlySignal, signal, useSignal } from "@preact/signals";
import type { ComponentChildren, VNode } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { textOfFiles } from "../shared/attachments.ts";
import { Files } from "../shared/files.tsx";
import { Icon } from "../shared/icons.tsx";
import type { lex } from "../shared/lexer.ts";
import { ExternalLink, Markdown } from "../shared/markdown.tsx";
import { safeUrl } from "../shared/plain-text.ts";
import { dayName, daysBetween, exactTime, timeOfDay } from "../shared/time.ts";
import type { Citation } from "./api.ts";
import type { Message } from "./message.ts";
import { AnswerRating, ConversationRating } from "./ratings.tsx";
import { type Ui, useUi } from "./ui.ts";

/** The list scrolls along with new messages if it is at most this far from its end. */
const NEAR_PX = 48;
/** Messages of one author within this time are grouped. */
const GROUP_MS = 5 * 60_000;

/** Keeps the end of a list visible while it grows, until the visitor scrolls up. */
function useFollowing(sending: string | undefined) {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const isFollowing = useRef(true);
  const lastEnd = useRef(0);
  const isBehind = useSignal(false);
  const toEnd = () => {
    isFollowing.current = true;
    isBehind.value = false;
    scroller.current!.scrollTo(0, scroller.current!.scrollHeight);
  };
  const endOf = ({ scrollHeight, clientHeight }: HTMLElement) => scrollHeight - clientHeight;
  const onScroll = () => {
    const end = endOf(scroller.current!);
    // The list may have grown since the scroll that this event reports.
    isFollowing.current = scroller.current!.scrollTop > Math.min(end, lastEnd.current) - NEAR_PX;
    lastEnd.current = end;
    isBehind.value = !isFollowing.current;
  };
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => {
      lastEnd.current = endOf(scroller.current!);
      if (isFollowing.current || lastEnd.current <= 0) toEnd();
    });
    observer.observe(content.current!);
    observer.observe(scroller.current!);
    return () => observer.disconnect();
  }, []);
  // The message that the visitor has just written is always visible.
  useLayoutEffect(() => {
    if (sending !== undefined) toEnd();
  }, [sending]);
  return { scroller, content, isBehind, toEnd, onScroll };
}

export function MessageList(): VNode {
  const { chat, t } = useUi();
  const messages = chat.messages.value;
  const sending = messages.at(-1)?.state === "sending" ? messages.at(-1)?.key : undefined;
  const { scroller, content, isBehind, toEnd, onScroll } = useFollowing(sending);
  return (
    <div class="body">
      <div class="scroller" ref={scroller} onScroll={onScroll} tabIndex={0} role="log" aria-live="off" aria-label={t("messages")}>
        <div class="content" ref={content}>
          {messages.length === 0 && (chat.isLoading.value ? <Skeleton /> : <Greeting />)}
          {messages.map((message, at) => (
            <MessageItem key={message.key} message={message} before={messages[at - 1]} />
          ))}
          <DraftItem />
          <ConversationRating />
        </div>
      </div>
      <ToEnd isBehind={isBehind} onClick={toEnd} />
    </div>
  );
}

/** A component of its own, so that scrolling does not render all messages again. */
function ToEnd({ isBehind, onClick }: { isBehind: ReadonlySignal<boolean>; onClick: () => void }): VNode | null {
  const { t } = useUi();
  if (!isBehind.value) return null;
  return (
    <button type="button" class="pill" onClick={onClick}>
      <Icon name="arrowDown" size={16} />
      {t("new_messages")}
    </button>
  );
}

function Greeting(): VNode {
  const { settings, chat, language, t } = useUi();
  const { welcome_message: welcome, is_default_welcome: isDefault, languages, appearance, status } = settings;
  const isTranslated = isDefault || languages[language]?.welcome !== undefined;
  return (
    <div class="greeting">
      {appearance.greeting && (
        <p class="hello" dir="auto">
          {appearance.greeting}
        </p>
      )}
      <p dir="auto" class={appearance.greeting ? "welcome" : "hello"}>
        {isTranslated ? t("welcome") : welcome}
      </p>
      {appearance.suggestions.length > 0 && status === "active" && (
        <ul class="suggestions" aria-label={t("suggestions")}>
          {appearance.suggestions.map((suggestion) => (
            <li key={suggestion}>
              <button type="button" dir="auto" onClick={() => void chat.send(suggestion)}>
                {suggestion}
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** A placeholder for content that is being loaded. */
export function Skeleton(): VNode {
  const { t } = useUi();
  return (
    <div class="skeleton" role="status" aria-label={t("loading")}>
      <i />
      <i />
      <i />
    </div>
  );
}

function MessageItem({ message, before }: { message: Message; before: Message | undefined }): VNode {
  const ui = useUi();
  const { language } = ui;
  const { role, atMs } = message;
  const isNewDay = before === undefined || daysBetween(before.atMs, atMs) > 0;
  const isNewGroup = isNewDay || before.role !== role || before.author !== message.author || atMs - before.atMs > GROUP_MS;
  return (
    <>
      {isNewDay && <p class="day">{nameOfDay(ui, atMs)}</p>}
      <article class={`message ${role} ${isNewGroup ? "first" : ""}`} title={exactTime(atMs, language)}>
        <Author message={message} isShown={isNewGroup} />
        {message.content !== textOfFiles(message.attachments) && <Content message={message} />}
        <Files attachments={message.attachments} label={ui.t("files")} />
        {role === "assistant" && <Sources citations={message.citations} />}
        {message.canRate && <AnswerRating message={message} />}
        {message.state && <SendState message={message} />}
      </article>
    </>
  );
}

function nameOfDay({ language, t }: Ui, atMs: number): string {
  const days = daysBetween(atMs, Date.now());
  if (days === 0) return t("today");
  return days === 1 ? t("yesterday") : dayName(atMs, Date.now(), language);
}

/** The author of a message: visible for the first of a group, and read aloud for each. */
function Author({ message: { role, author, atMs }, isShown }: { message: Message; isShown: boolean }): VNode {
  const { settings, language, t } = useUi();
  const name = { user: t("you"), assistant: settings.name, human: author ?? t("team"), system: settings.name }[role];
  const isSeen = isShown && role !== "user" && role !== "system";
  return (
    <h3 class={isSeen ? "author" : "unseen"}>
      {role === "human" && isSeen && (
        <span class="avatar" aria-hidden="true">
          {name.slice(0, 1).toUpperCase()}
        </span>
      )}
      {name}
      <time dateTime={new Date(atMs).toISOString()}>{timeOfDay(atMs, language)}</time>
    </h3>
  );
}

/** The text of a message. A visitor's is shown as it was written, without formatting. */
function Content({ message: { role, content } }: { message: Message }): VNode {
  const formatted = useMemo(() => <Formatted text={content} />, [content]);
  return (
    <div class="text" dir="auto">
      {role === "user" ? content : formatted}
    </div>
  );
}

/** The parser of Markdown, once it is loaded. Until then, and if it cannot be loaded, texts are shown as they are. */
const lexer = signal<typeof lex | undefined>(undefined);

/** Loads the parser of Markdown. It is a module of its own, because the first question can be asked without it. */
export function loadLexer(): void {
  import("../shared/lexer.ts").then(
    ({ lex }) => (lexer.value = lex),
    () => undefined,
  );
}

function Formatted({ text, isOpen = false }: { text: string; isOpen?: boolean }): VNode {
  const lex = lexer.value;
  return lex ? <Markdown blocks={lex(text)} isOpen={isOpen} codeAction={copyButton} /> : <p class="plain">{text}</p>;
}

/** Pages without TLS have no clipboard. */
const copyButton = "clipboard" in navigator ? (code: string): ComponentChildren => <CopyButton code={code} /> : undefined;
const COPIED_MS = 2_000;

function CopyButton({ code }: { code: string }): VNode {
  const { t } = useUi();
  const isCopied = useSignal(false);
  const copy = async () => {
    await navigator.clipboard.writeText(code);
    isCopied.value = true;
    setTimeout(() => (isCopied.value = false), COPIED_MS);
  };
  return (
    <button type="button" class="copy" onClick={() => void copy()}>
      {t(isCopied.value ? "copied" : "copy_code")}
    </button>
  );
}

function DraftItem(): VNode | null {
  const { settings, chat, t } = useUi();
  const draft = chat.draft.value;
  if (!draft) return null;
  const { name } = settings;
  return (
    <article class="message assistant first draft" aria-busy="true">
      <h3 class="author">{name}</h3>
      {draft.text === "" ? (
        <div class="dots" role="img" aria-label={t("is_writing", { name })}>
          <i />
          <i />
          <i />
        </div>
      ) : (
        <div class="text" dir="auto">
          <Formatted text={draft.text} isOpen />
        </div>
      )}
      {chat.isReconnecting.value && <p class="state">{t("reconnecting")}</p>}
    </article>
  );
}

function Sources({ citations }: { citations: readonly Citation[] }): VNode | null {
  const { t } = useUi();
  const shown = useSignal<number | undefined>(undefined);
  if (citations.length === 0) return null;
  return (
    <div class="sources">
      <ol aria-label={t("sources")}>
        {citations.map((citation, at) => (
          <li key={at}>
            <Source
              citation={citation}
              number={at + 1}
              isShown={shown.value === at}
              onShow={() => (shown.value = shown.value === at ? undefined : at)}
            />
          </li>
        ))}
      </ol>
      {shown.value !== undefined && (
        <blockquote class="snippet" dir="auto">
          {citations[shown.value]!.snippet}
        </blockquote>
      )}
    </div>
  );
}

interface SourceProps {
  citation: Citation;
  number: number;
  isShown: boolean;
  onShow: () => void;
}

/** A source with an address is a link; for another one the passage is shown. */
function Source({ citation: { title, url, snippet }, number, isShown, onShow }: SourceProps): VNode {
  const inner = (
    <>
      <b>{number}</b>
      <span dir="auto">{title}</span>
    </>
  );
  const href = safeUrl(url ?? "");
  return href ? (
    <ExternalLink class="source" href={href} title={snippet}>
      {inner}
    </ExternalLink>
  ) : (
    <button type="button" class="source" aria-expanded={isShown} onClick={onShow}>
      {inner}
    </button>
  );
}

function SendState({ message }: { message: Message }): VNode {
  const { chat, t } = useUi();
  if (message.state === "sending") return <p class="unseen">{t("sending")}</p>;
  return (
    <p class="state failed">
      <Icon name="alert" size={14} />
      {t("not_sent")}
      <button type="button" class="link" onClick={() => void chat.retry(message)}>
        {t("try_again")}
      </button>
    </p>
  );
}
