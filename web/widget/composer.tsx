import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { AttachButton, type FileWords, PendingFiles } from "../shared/files.tsx";
import { Icon } from "../shared/icons.tsx";
import { type Ui, useUi } from "./ui.ts";

/** The longest message that the service accepts, in characters. */
const MAX_LENGTH = 2000;
/** The code of a key that an input method uses. */
const COMPOSING_KEY = 229;
/** The count of characters left is shown from this many on. */
const COUNTED_FROM = 200;

/** The field for messages. It grows with its text; Enter sends, and Shift+Enter starts a new line. */
export function Composer(): VNode {
  const { chat, t } = useUi();
  const { text } = chat;
  const field = useGrowing(text.value);
  const left = MAX_LENGTH - Array.from(text.value).length;
  const isClosed = chat.notice.value?.kind === "paused";
  const uploads = !chat.needsProof && !isClosed ? chat.uploads.value : undefined;
  const isEmpty = text.value.trim() === "" && !uploads?.ready.length;
  const canSend = !isEmpty && left >= 0 && !isClosed && !uploads?.isBusy && !chat.isLoading.value;
  const files = uploads && { uploads, words: fileWords(t) };
  const send = (event: Event) => {
    event.preventDefault();
    if (!canSend) return;
    void chat.send(text.value.trim(), uploads?.take());
    text.value = "";
    field.current?.focus();
  };
  return (
    <form class="composer" onSubmit={send} {...(files && files.uploads.handlers)}>
      {files && <PendingFiles {...files} />}
      {files && <AttachButton {...files} class="attach" />}
      <textarea
        ref={field}
        rows={1}
        // Text has its own direction; the placeholder has that of the chat.
        dir={text.value === "" ? undefined : "auto"}
        aria-label={t("message_label")}
        placeholder={t("message_placeholder")}
        enterkeyhint="send"
        value={text.value}
        disabled={isClosed}
        aria-invalid={left < 0}
        onInput={({ currentTarget }) => (text.value = currentTarget.value)}
        // While an input method composes a word, Enter chooses that word. In Safari only its code says so.
        onKeyDown={(event) =>
          event.key === "Enter" && !event.shiftKey && !event.isComposing && event.keyCode !== COMPOSING_KEY && send(event)
        }
      />
      {left < COUNTED_FROM && (
        <span class={left < 0 ? "left-over over" : "left-over"} role="status">
          {t("characters_left", { count: left })}
        </span>
      )}
      <button type="submit" class="send" aria-label={t("send")} title={t("send")} disabled={!canSend}>
        <Icon name="send" />
      </button>
    </form>
  );
}

function fileWords(t: Ui["t"]): FileWords {
  return {
    attach: t("attach"),
    files: t("files"),
    remove: (name) => t("remove_file", { name }),
    uploading: (name) => t("uploading", { name }),
    problems: {
      too_large: (name) => t("file_too_large", { name }),
      unsupported: (name) => t("file_unsupported", { name }),
      too_many: (name) => t("too_many_files", { name }),
      failed: (name) => t("file_failed", { name }),
    },
  };
}

/** Makes a field as high as its text. */
function useGrowing(text: string) {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    const { style } = field.current!;
    style.blockSize = "auto";
    style.blockSize = `${field.current!.scrollHeight}px`;
  }, [text]);
  return field;
}
