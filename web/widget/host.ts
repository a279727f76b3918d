import type { Schemas } from "../../client/widget-schema.ts";
import type { WidgetLanguage, WidgetText } from "../../src/agents/widget-texts.ts";

/** What every visitor may know of an agent: `GET /widget/v1/agents/{agent_id}`. */
export interface Settings extends Omit<Schemas["WidgetSettings"], "languages"> {
  languages: Partial<Record<WidgetLanguage, Partial<Record<WidgetText, string>>>>;
}

/** A field of the contact form: `name`, `email`, `phone` and `message` are the lead's own, others its custom fields. */
export type ContactField = Schemas["ContactForm"]["fields"][number];

/** What pages can listen to. */
export type EventName =
  | "ready"
  | "opened"
  | "closed"
  | "message_sent"
  | "answered"
  | "handed_off"
  | "message_received"
  | "rated"
  | "contact_sent";

/** A call of `SupportAgent(…)`. */
export type Call = [command: string, ...args: unknown[]];

/** What the loader hands over. */
export interface Host {
  /** With `launcher` it floats above the page, with `page` it is the page; else it stands where it is. */
  element: HTMLElement;
  /** The origin of the service. */
  service: string;
  settings: Settings;
  language: WidgetLanguage;
  /** All calls so far; those to come are added. */
  calls: readonly Call[];
}

/** A chat in an element. */
export interface Panel {
  open: () => void;
  /** Does what a call says. */
  obey: (call: Call) => void;
  /** The element was put back into a page. */
  resume: () => void;
  /** The element was taken out of its page, maybe for a moment. */
  pause: () => void;
}
