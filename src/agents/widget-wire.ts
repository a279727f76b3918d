import { z } from "@hono/zod-openapi";
import { type Appearance, LAUNCHERS, POSITIONS, THEMES } from "../platform/db/columns.ts";
import { valueErrorParams } from "../platform/http/validation.ts";
import { WIDGET_LANGUAGES, WIDGET_TEXTS } from "./widget-texts.ts";
import type { AgentRow } from "./wire.ts";

/*
 * The settings of an agent's chat: on websites (`/widget.js`) and as a page of its own (`/chat/{agent_id}`). A field that is left out
 * has its default.
 */

const MAX_SUGGESTIONS = 4;
const MAX_CONTACT_FIELDS = 10;
const MAX_OPTIONS = 20;
const MAX_TEXT_LENGTH = 300;

const DEFAULT_APPEARANCE: Appearance = {
  accent: "#3538cd",
  position: "right",
  launcher: "icon",
  greeting: null,
  suggestions: [],
  theme: "auto",
  show_branding: true,
};

export const appearanceSchema = z
  .object({
    accent: z
      .string()
      .regex(/^#[0-9a-fA-F]{6}$/, "use a colour such as #3538cd")
      .toLowerCase()
      .meta({
        description: "The colour of the launcher, the buttons and the visitor's messages. Text on it is black or white.",
        example: "#3538cd",
      }),
    position: z.enum(POSITIONS).meta({ description: "The corner of the launcher and its panel." }),
    launcher: z
      .enum(LAUNCHERS)
      .meta({ description: 'An icon, an icon with a text, or nothing: the page then opens the chat by `SupportAgent("open")`.' }),
    greeting: z
      .string()
      .min(1)
      .max(MAX_TEXT_LENGTH)
      .nullable()
      .meta({ description: "A headline above the welcome message.", example: "Hi there" }),
    suggestions: z
      .array(z.string().min(1).max(MAX_TEXT_LENGTH))
      .max(MAX_SUGGESTIONS)
      .meta({ description: "Questions that a visitor can ask by a click.", example: ["How long do refunds take?"] }),
    theme: z.enum(THEMES).meta({ description: "`auto` follows the setting of the visitor's system." }),
    show_branding: z.boolean().meta({ description: "Whether the chat names this service." }),
  })
  .openapi("Appearance");

const contactFieldSchema = z
  .object({
    name: z
      .string()
      .regex(/^[a-z][a-z0-9_]{0,63}$/, "use up to 64 small letters, digits and underscores, a letter first")
      .meta({
        description: "`name`, `email`, `phone` and `message` are fields of every lead; others are custom fields.",
        example: "email",
      }),
    label: z
      .string()
      .min(1)
      .max(MAX_TEXT_LENGTH)
      .nullable()
      .default(null)
      .meta({ description: "The label of the field; null for the usual one in the visitor's language." }),
    required: z.boolean().default(false).meta({ description: "Whether the form cannot be sent without it." }),
    options: z
      .array(z.string().min(1).max(MAX_TEXT_LENGTH))
      .max(MAX_OPTIONS)
      .default([])
      .meta({ description: "The options to choose from; empty for a field that is typed." }),
  })
  .refine(({ name, label }) => label !== null || OWN_FIELDS.has(name), valueErrorParams("give a label"));

/** The fields that every lead has. The chat labels them in the visitor's language. */
const OWN_FIELDS = new Set(["name", "email", "phone", "message"]);

export const contactFormSchema = z
  .object({
    fields: z
      .array(contactFieldSchema)
      .min(1)
      .max(MAX_CONTACT_FIELDS)
      .refine((fields) => fields.some(({ name }) => name === "email" || name === "phone"), valueErrorParams("ask for email or phone"))
      .refine((fields) => new Set(fields.map(({ name }) => name)).size === fields.length, valueErrorParams("use each name once"))
      .meta({ description: "The fields of the form, in their order." }),
  })
  .openapi("ContactForm");

export const languagesSchema = z
  .partialRecord(z.enum(WIDGET_LANGUAGES), z.partialRecord(z.enum(WIDGET_TEXTS), z.string().min(1).max(MAX_TEXT_LENGTH)))
  .meta({
    type: "object",
    additionalProperties: { type: "object", additionalProperties: { type: "string" } },
    description: `The languages of the chat, each with texts that replace the usual ones; empty for all languages. If neither the page nor the browser has one of these languages, the chat uses the agent's language, or the first of these.

Languages: ${WIDGET_LANGUAGES.join(", ")}. Texts: ${WIDGET_TEXTS.join(", ")}.`,
    example: { en: { launcher_label: "Ask Acme" }, de: {} },
  });

export const hostedPageSchema = z
  .object({
    enabled: z.boolean().meta({ description: "Whether the page /chat/{agent_id} exists." }),
    indexed: z.boolean().meta({ description: "Whether search engines may index it." }),
  })
  .openapi("HostedPage");

export const WIDGET_DESCRIPTIONS = {
  appearance: "How the chat looks.",
  contact_form: "The form that visitors get when nobody can answer; null for no form.",
  hosted_page: "The chat as a page of its own.",
};

/** The settings of an agent's chat as callers send them. */
export const widgetFields = {
  appearance: appearanceSchema.partial().meta({ description: WIDGET_DESCRIPTIONS.appearance }),
  contact_form: contactFormSchema.nullable().meta({ description: WIDGET_DESCRIPTIONS.contact_form }),
  languages: languagesSchema,
  hosted_page: hostedPageSchema.partial().meta({ description: WIDGET_DESCRIPTIONS.hosted_page }),
};

/** The settings of an agent's chat, defaults included. */
export function toWidgetSettings({ appearance, contactForm, languages, hostedPage }: AgentRow) {
  return {
    appearance: { ...DEFAULT_APPEARANCE, ...appearance },
    contact_form: contactForm,
    languages,
    hosted_page: { enabled: true, indexed: false, ...hostedPage },
  };
}
