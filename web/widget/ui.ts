import type { Signal } from "@preact/signals";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { WidgetLanguage, WidgetText } from "../../src/agents/widget-texts.ts";
import type { Chat } from "./chat.ts";
import type { Settings } from "./host.ts";

/** What every part of the panel needs. */
export interface Ui {
  settings: Settings;
  /** How the chat stands on the page: opened by a launcher, in a place of the page, or as the page itself. */
  mode: "floating" | "inline" | "page";
  chat: Chat;
  language: WidgetLanguage;
  view: Signal<"chat" | "history" | "contact">;
  isOpen: Signal<boolean>;
  /** A text in the visitor's language. */
  t: (name: WidgetText, values?: Record<string, string | number>) => string;
  close: () => void;
  focusComposer: () => void;
}

export const UiContext = createContext<Ui | undefined>(undefined);

export function useUi(): Ui {
  return useContext(UiContext)!;
}
