import type { WidgetLanguage } from "../../src/agents/widget-texts.ts";

/**
 * Chooses the language of the chat: the first preferred one that is offered, otherwise the first offered one.
 * @param wanted the preferred languages as BCP 47 tags, in order.
 * @param own the languages of the agent, as keys. If there are none, all are offered.
 */
export function chooseLanguage(wanted: readonly string[], own: object, all: readonly string[]): WidgetLanguage {
  const names = Object.keys(own);
  const offered = names[0] ? names : all;
  const codes = wanted.map((tag) => tag.split("-")[0]!.replace(/^n[no]$/, "nb"));
  return (codes.find((code) => offered.includes(code)) ?? offered[0]) as WidgetLanguage;
}
