/*
 * The names of the texts that visitors see in the chat. Their translations are in web/widget/languages, and an agent's `languages`
 * may replace them. Placeholders such as `{name}` in a text are filled in.
 */

/** The languages that the chat is translated into. */
export const WIDGET_LANGUAGES = ["en", "de", "fr", "es", "pt", "it", "nl", "nb", "ar"] as const;

export type WidgetLanguage = (typeof WIDGET_LANGUAGES)[number];

/**
 * Chooses the language of the chat: the first preferred one that is offered, otherwise the first offered one.
 * @param wanted the preferred languages as BCP 47 tags in lower case, in order.
 * @param own the languages of the agent, as keys. If there are none, all are offered.
 */
export function chooseLanguage(wanted: readonly string[], own: object, all: readonly string[]): WidgetLanguage {
  const names = Object.keys(own);
  const offered = names[0] ? names : all;
  const codes = wanted.map((tag) => tag.split("-")[0]!.replace(/^n[no]$/, "nb"));
  return (codes.find((code) => offered.includes(code)) ?? offered[0]) as WidgetLanguage;
}

export function directionOf(language: WidgetLanguage): "rtl" | "ltr" {
  return language === "ar" ? "rtl" : "ltr";
}

export const WIDGET_TEXTS = [
  // The window.
  "launcher_label",
  "open_chat",
  "close_chat",
  "chat_with",
  "menu",
  "new_conversation",
  "history",
  "history_empty",
  "back",
  "talk_to_person",
  "answers_by_ai",
  "powered_by",
  "loading",
  "welcome",
  // The field for messages.
  "message_label",
  "message_placeholder",
  "send",
  "characters_left",
  "attach",
  "files",
  "remove_file",
  "uploading",
  "file_too_large",
  "file_unsupported",
  "too_many_files",
  "file_failed",
  "suggestions",
  // Messages.
  "messages",
  "you",
  "team",
  "is_writing",
  "sources",
  "copy_code",
  "copied",
  "new_messages",
  "unread_messages",
  "today",
  "yesterday",
  "sending",
  "not_sent",
  "try_again",
  // Ratings.
  "rate_up",
  "rate_down",
  "rate_reason",
  "rate_thanks",
  "csat_title",
  "csat_1",
  "csat_2",
  "csat_3",
  "csat_4",
  "csat_5",
  "csat_comment",
  "csat_thanks",
  "submit",
  "skip",
  // Conversations with a human.
  "waiting_title",
  "waiting_text",
  "closed_title",
  "closed_text",
  "human_title",
  "resolved",
  // The contact form.
  "contact_title",
  "contact_text",
  "contact_open",
  "contact_sent",
  "field_name",
  "field_email",
  "field_phone",
  "field_message",
  "optional",
  "required",
  "invalid_email",
  "invalid_phone",
  // Errors.
  "offline",
  "reconnecting",
  "rate_limited",
  "conversation_full",
  "quota_exceeded",
  "paused",
  "unavailable",
  "session_ended",
  "identity_rejected",
  "challenge",
  "challenge_failed",
  "not_loaded",
] as const;

export type WidgetText = (typeof WIDGET_TEXTS)[number];
