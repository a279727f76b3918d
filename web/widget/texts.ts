import type { WidgetLanguage, WidgetText } from "../../src/agents/widget-texts.ts";
import { texts as english } from "./languages/en.ts";

export type Texts = Record<WidgetText, string>;

/** A module for each language. English is part of the panel, in case another one cannot be loaded. */
const MODULES: Record<Exclude<WidgetLanguage, "en">, () => Promise<{ texts: Texts }>> = {
  de: () => import("./languages/de.ts"),
  fr: () => import("./languages/fr.ts"),
  es: () => import("./languages/es.ts"),
  pt: () => import("./languages/pt.ts"),
  it: () => import("./languages/it.ts"),
  nl: () => import("./languages/nl.ts"),
  nb: () => import("./languages/nb.ts"),
  ar: () => import("./languages/ar.ts"),
};

/** Loads the texts of a language, some of them replaced by the agent's own. */
export async function loadTexts(language: WidgetLanguage, own: Partial<Texts> = {}): Promise<Texts> {
  const { texts } = language === "en" ? { texts: english } : await MODULES[language]().catch(() => ({ texts: english }));
  return { ...texts, ...own };
}

/** Replaces the `{names}` in a text by values. */
export function fill(text: string, values: Record<string, string | number>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}
