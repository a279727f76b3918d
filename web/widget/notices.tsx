import type { VNode } from "preact";
import { Icon, type IconName } from "../shared/icons.tsx";
import { useOnline } from "../shared/online.ts";
import { relativeTime } from "../shared/time.ts";
import type { Problem } from "./problem.ts";
import { type Ui, useUi } from "./ui.ts";

/** Shows the most important thing that the visitor has to know before they write, and what they can do about it. */
export function Notices(): VNode | null {
  const { chat, settings, t } = useUi();
  const isOnline = useOnline();
  const problem = chat.notice.value;
  const status = chat.status.value;
  if (!isOnline) {
    return (
      <p class="notice warn" role="status">
        {t("offline")}
      </p>
    );
  }
  if (problem) return <ProblemNotice problem={problem} />;
  if (status === "needs_human") return <Waiting />;
  if (status === "resolved") return <p class="notice">{t("resolved")}</p>;
  const hasAnswer = chat.messages.value.some(({ role }) => role === "assistant");
  if (!hasAnswer || chat.draft.value || status === "human_active") return null;
  return (
    <div class="offers">
      {settings.handoff === "on" ? (
        <Chip icon="person" label={t("talk_to_person")} onClick={() => void chat.requestHuman()} />
      ) : (
        <ContactOffer />
      )}
    </div>
  );
}

function Chip({ icon, label, onClick }: { icon: IconName; label: string; onClick: () => void }): VNode {
  return (
    <button type="button" class="chip" onClick={onClick}>
      <Icon name={icon} size={16} />
      {label}
    </button>
  );
}

/** Offers the contact form, if the agent has one, until the visitor has used it. */
function ContactOffer(): VNode | null {
  const { chat, settings, view, t } = useUi();
  if (chat.hasContact.value) return <p role="status">{t("contact_sent")}</p>;
  if (settings.contact_form === null) return null;
  return <Chip icon="mail" label={t("contact_open")} onClick={() => (view.value = "contact")} />;
}

function ProblemNotice({ problem }: { problem: Problem }): VNode {
  const ui = useUi();
  const { chat, t } = ui;
  return (
    <div class="notice warn" role="alert">
      <p>{textOf(problem, ui)}</p>
      {problem.kind === "conversation_full" && (
        <Chip icon="compose" label={t("new_conversation")} onClick={() => void chat.openConversation(undefined)} />
      )}
      {(problem.kind === "paused" || problem.kind === "quota_exceeded") && <ContactOffer />}
    </div>
  );
}

function Waiting(): VNode {
  const { chat, language, t } = useUi();
  const opensAt = chat.opensAt.value;
  const isClosed = opensAt !== null && Date.parse(opensAt) > Date.now();
  const title = t(isClosed ? "closed_title" : "waiting_title");
  const text = isClosed ? t("closed_text", { time: openingTime(opensAt, language) }) : t("waiting_text");
  return (
    <section class="notice" aria-label={title}>
      <p>
        <b>{title}</b>
      </p>
      {!chat.hasContact.value && <p>{text}</p>}
      <ContactOffer />
    </section>
  );
}

/** Formats the time of the next opening in the visitor's time zone. */
function openingTime(at: string, language: string): string {
  const format = { weekday: "long", day: "numeric", month: "long", hour: "numeric", minute: "2-digit" } as const;
  return new Date(at).toLocaleString(language, format);
}

function textOf(problem: Problem, { language, t }: Ui): string {
  if (problem.kind !== "rate_limited") return t(problem.kind);
  // A wait of less than a minute would be "now".
  const waitMs = Math.max(problem.untilMs - Date.now(), 60_000);
  return t("rate_limited", { time: relativeTime(waitMs, 0, language) });
}
