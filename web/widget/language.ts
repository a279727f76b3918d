import type { WidgetLanguage } from "../../src/agents/widget-texts.ts";

/**
 * Of the languages that a chat speaks the first that is wanted.
 * @param wanted BCP 47 tags, the most wanted first.
 * @param own those of the agent; without any, the chat speaks all.
 */
export function chooseLanguage(wanted: readonly string[], own: object, all: readonly string[]): WidgetLanguage {
  const spoken = Object.keys(own);
  const offered = spoken[0] ? spoken : all;
  const codes = wanted.map((tag) => tag.split("-")[0]!.replace(/^n[no]$/, "nb"));
  return (codes.find((code) => offered.includes(code)) ?? offered[0]) as WidgetLanguage;
}
