import type { Email } from "postal-mime";
import { firstOf, oneLineOf } from "../cut.ts";
import { textOfHtml } from "./html-text.ts";
import { visibleText } from "./visible-text.ts";

/** As long as a team's reply may be: longer mails are pasted documents, and their beginning says what is asked. */
const MAX_QUESTION_LENGTH = 8_000;
/** How much of a mail is looked at: the answer stands above the history. */
const MAX_READ_LENGTH = 200_000;
const MAX_SUBJECT_LENGTH = 300;
const MAX_NAMED_ATTACHMENTS = 10;
const MAX_FILE_NAME_LENGTH = 100;
const NO_SUBJECT = "(no subject)";

/** What a mail asks: what is new in its text, and the names of what was attached, which is not kept. */
export function questionOf(mail: Email): string {
  const written = mail.text?.trim() ? mail.text : textOfHtml((mail.html ?? "").slice(0, MAX_READ_LENGTH));
  const text = firstOf(visibleText(written.slice(0, MAX_READ_LENGTH)), MAX_QUESTION_LENGTH);
  const files = mail.attachments.filter(({ related }) => !related).slice(0, MAX_NAMED_ATTACHMENTS);
  const names = files.map(({ filename, mimeType }) => `[Attachment: ${oneLineOf(filename ?? mimeType, MAX_FILE_NAME_LENGTH)}]`);
  return [text === "" ? subjectOf(mail) : text, ...names].join("\n");
}

/** A mail's subject, on one line. */
export function subjectOf(mail: Email): string {
  return oneLineOf(mail.subject ?? "", MAX_SUBJECT_LENGTH) || NO_SUBJECT;
}
