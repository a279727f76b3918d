import type { Signal } from "@preact/signals";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { WidgetLanguage, WidgetText } from "../../src/agents/widget-texts.ts";
import type { Chat, View } from "./chat.ts";
import type { Settings } from "./host.ts";

/** The context that every part of the panel uses. */
export interface Ui {
  settings: Settings;
  /** How the chat is placed: opened by a launcher, inline in the page, or filling the page. */
  mode: "floating" | "inline" | "page";
  chat: Chat;
  language: WidgetLanguage;
  view: Signal<View>;
  isOpen: Signal<boolean>;
  /** Returns a text in the language of the chat. */
  t: (name: WidgetText, values?: Record<string, string | number>) => string;
  close: () => void;
  focusComposer: () => void;
}

export const UiContext = createContext<Ui | undefined>(undefined);

export function useUi(): Ui {
  return useContext(UiContext)!;
}
