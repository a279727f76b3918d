import { z } from "@hono/zod-openapi";
import { HANDOFF_SETTINGS } from "../platform/db/columns.ts";
import { filledText } from "../platform/http/fields.ts";
import { valueErrorParams } from "../platform/http/validation.ts";
import { LANGUAGES } from "../text/languages.ts";
import { phraseWords } from "../text/phrases.ts";

const MAX_MESSAGE_LENGTH = 2_000;
const MAX_WORDS = 100;
const MAX_WORD_LENGTH = 100;

const LANGUAGE_CODES = Object.keys(LANGUAGES);

/** The settings of an agent that decide whether and when it hands off. */
export const handoffFields = {
  handoff: z.enum(HANDOFF_SETTINGS).meta({
    description:
      "`off`: the agent never hands a conversation to a human. It says that it has no answer and, if it has a contact form, asks for contact details. Tools that need an approval are then not called.",
    example: "on",
  }),
  handoff_off_messages: z.partialRecord(z.enum(LANGUAGE_CODES), filledText(MAX_MESSAGE_LENGTH)).meta({
    type: "object",
    additionalProperties: { type: "string" },
    description: `What visitors read instead of a hand-off if \`handoff\` is off, by language; visitors who write in another language read the usual text. Languages: ${LANGUAGE_CODES.join(", ")}.`,
    example: { en: "I cannot answer that. Please write to help@example.com." },
  }),
  handoff_words: z
    .array(
      z
        .string()
        .max(MAX_WORD_LENGTH)
        .refine((text) => phraseWords(text).length > 0, valueErrorParams("write a word or a phrase")),
    )
    .max(MAX_WORDS)
    .meta({
      description:
        "Words and phrases, in any language: a message that has one of them as whole words is handed off. Case, accents and punctuation do not matter.",
      example: ["cancel my contract"],
    }),
};
