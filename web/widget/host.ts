import type { Schemas } from "../../client/widget-schema.ts";
import type { WidgetLanguage, WidgetText } from "../../src/agents/widget-texts.ts";

/** The public settings of an agent: `GET /widget/v1/agents/{agent_id}`. */
export interface Settings extends Omit<Schemas["WidgetSettings"], "languages"> {
  languages: Partial<Record<WidgetLanguage, Partial<Record<WidgetText, string>>>>;
}

/** A field of the contact form: `name`, `email`, `phone`, `message`, or a custom field of the lead. */
export type ContactField = Schemas["ContactForm"]["fields"][number];

/** The events that a page can listen to. */
export type EventName =
  | "ready"
  | "opened"
  | "closed"
  | "message_sent"
  | "answered"
  | "handed_off"
  | "message_received"
  | "rated"
  | "resolved"
  | "contact_sent"
  | "identity_rejected";

/** A call of `SupportAgent(…)`. */
export type Call = [command: string, ...args: unknown[]];

/** The context that the loader gives the panel. */
export interface Host {
  /** The attribute `launcher` makes it float above the page, and `page` makes it fill the page; otherwise it is inline. */
  element: HTMLElement;
  /** The origin of the service. */
  service: string;
  settings: Settings;
  language: WidgetLanguage;
  /** The calls so far. The loader appends later ones. */
  calls: readonly Call[];
}

/** The chat window in an element. */
export interface Panel {
  open: () => void;
  handleCall: (call: Call) => void;
  /** Called when the element is put back into a page. */
  resume: () => void;
  /** Called when the element is removed from its page, perhaps for a moment. */
  pause: () => void;
}
