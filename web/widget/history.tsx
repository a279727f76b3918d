import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect } from "preact/hooks";
import { plainText } from "../shared/plain-text.ts";
import { exactTime, relativeTime } from "../shared/time.ts";
import type { PastConversation } from "./api.ts";
import { Skeleton } from "./messages.tsx";
import { useUi } from "./ui.ts";

/** The visitor's conversations with the agent, latest first. */
export function History(): VNode {
  const { chat, language, view, t, focusComposer } = useUi();
  /** Undefined while it is being loaded, and null if that failed. */
  const list = useSignal<PastConversation[] | null | undefined>(undefined);
  const load = async () => {
    list.value = undefined;
    list.value = await chat.api.listConversations().then(
      ({ data }) => data,
      () => null,
    );
  };
  useEffect(() => void load(), []);
  const open = (id: string) => {
    view.value = "chat";
    if (id !== chat.memory.value.conversation) void chat.openConversation(id);
    requestAnimationFrame(focusComposer);
  };
  const shown = list.value;
  return (
    <div class="page">
      {shown === undefined && <Skeleton />}
      {shown === null && (
        <div class="notice warn" role="alert">
          <p>{t("unavailable")}</p>
          <button type="button" class="chip" onClick={() => void load()}>
            {t("try_again")}
          </button>
        </div>
      )}
      {shown?.length === 0 && <p class="empty">{t("history_empty")}</p>}
      {shown && (
        <ul class="past">
          {shown.map(({ id, last_message_preview: preview, last_message_at: at }) => (
            <li key={id}>
              <button type="button" aria-current={id === chat.memory.value.conversation} onClick={() => open(id)}>
                <span dir="auto">{plainText(preview ?? "")}</span>
                <time dateTime={at} title={exactTime(Date.parse(at), language)}>
                  {relativeTime(Date.parse(at), Date.now(), language)}
                </time>
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
