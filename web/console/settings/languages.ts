/** The languages that the service recognises. */
export const LANGUAGES = ["en", "de", "fr", "es", "pt", "it", "nl", "no", "sv", "da", "pl", "tr", "ar", "hi", "zh", "ja"] as const;

const NAMES = new Intl.DisplayNames("en", { type: "language" });

/** Returns the English name of a language. */
export function languageName(code: string): string {
  return NAMES.of(code) ?? code;
}
