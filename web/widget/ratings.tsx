import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { Drawing, Icon } from "../shared/icons.tsx";
import type { Message } from "./message.ts";
import { useUi } from "./ui.ts";

/** Asks whether an answer helped; if not, the visitor may say what was missing. */
export function AnswerRating({ message }: { message: Message }): VNode {
  const { chat, t } = useUi();
  const rating = chat.ratings.value[message.id ?? ""];
  const step = useSignal<"buttons" | "reason" | "thanks">("buttons");
  const rate = async (wanted: "up" | "down") => {
    step.value = wanted === "down" ? "reason" : "buttons";
    if ((await chat.rate(message, wanted)) && step.value === "buttons") step.value = "thanks";
  };
  const explain = async (comment: string) => {
    if (comment === "" || (await chat.rate(message, "down", comment))) step.value = "thanks";
  };
  const button = (wanted: "up" | "down") => {
    const label = t(wanted === "up" ? "rate_up" : "rate_down");
    return (
      <button
        type="button"
        class="tool"
        aria-label={label}
        title={label}
        aria-pressed={rating === wanted}
        onClick={() => void rate(wanted)}
      >
        <Icon name={wanted} size={16} />
      </button>
    );
  };
  return (
    <div class="rating">
      <div class="thumbs">
        {button("up")}
        {button("down")}
        {step.value === "thanks" && <span role="status">{t("rate_thanks")}</span>}
      </div>
      {step.value === "reason" && <CommentForm label={t("rate_reason")} onSubmit={(comment) => void explain(comment)} />}
    </div>
  );
}

interface CommentFormProps {
  label: string;
  onSubmit: (comment: string) => void;
}

const MAX_COMMENT_LENGTH = 2000;

function CommentForm({ label, onSubmit }: CommentFormProps): VNode {
  const { t } = useUi();
  const comment = useSignal("");
  const submit = (event: Event) => {
    event.preventDefault();
    onSubmit(comment.value.trim());
  };
  return (
    <form class="comment" onSubmit={submit}>
      <label>
        <span>{label}</span>
        <textarea
          rows={2}
          maxLength={MAX_COMMENT_LENGTH}
          value={comment.value}
          onInput={({ currentTarget }) => (comment.value = currentTarget.value)}
        />
      </label>
      <div class="actions">
        <button type="button" class="link" onClick={() => onSubmit("")}>
          {t("skip")}
        </button>
        <button type="submit" class="primary">
          {t("submit")}
        </button>
      </div>
    </form>
  );
}

const SCORES = [1, 2, 3, 4, 5] as const;
/** The mouth of the face for each score. */
const MOUTHS = [
  "M8 16.5c2-3.4 6-3.4 8 0",
  "M8.5 16c1.8-1.8 5.2-1.8 7 0",
  "M8.5 15.5h7",
  "M8.5 14.5c1.8 1.8 5.2 1.8 7 0",
  "M8 14c2 3.4 6 3.4 8 0",
];

/** Asks for a rating of a resolved conversation, once. The score is stored when the visitor selects it, and again with the comment. */
export function ConversationRating(): VNode | null {
  const { chat, t } = useUi();
  const given = useSignal<{ conversation: string; score: number | undefined; isDone: boolean } | undefined>(undefined);
  const { conversation } = chat.memory.value;
  if (chat.status.value !== "resolved" || !conversation || chat.draft.value) return null;
  const own = given.value?.conversation === conversation ? given.value : undefined;
  if (own?.isDone) {
    return (
      <p class="csat thanks" role="status">
        {t("csat_thanks")}
      </p>
    );
  }
  if (!own && chat.concluded.value.includes(conversation)) return null;
  const select = async (score: number) => {
    given.value = { conversation, score, isDone: false };
    if (!(await chat.rateConversation(score))) given.value = { conversation, score: undefined, isDone: false };
  };
  const finish = async (score: number, comment: string) => {
    if (comment === "" || (await chat.rateConversation(score, comment))) given.value = { conversation, score, isDone: true };
  };
  const score = own?.score;
  return (
    <section class="csat" aria-label={t("csat_title")}>
      <p class="question">{t("csat_title")}</p>
      <div class="scores" role="group" aria-label={t("csat_title")}>
        {SCORES.map((each) => (
          <button
            key={each}
            type="button"
            aria-label={t(`csat_${each}`)}
            title={t(`csat_${each}`)}
            aria-pressed={score === each}
            onClick={() => void select(each)}
          >
            <Drawing path={`M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM9 9.5v.01M15 9.5v.01${MOUTHS[each - 1]!}`} size={24} />
          </button>
        ))}
      </div>
      {score !== undefined && <CommentForm label={t("csat_comment")} onSubmit={(comment) => void finish(score, comment)} />}
    </section>
  );
}
