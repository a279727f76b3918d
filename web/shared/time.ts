const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const UNITS = [
  ["day", DAY_MS],
  ["hour", HOUR_MS],
  ["minute", MINUTE_MS],
] as const;

/** Creates each format once per language: that is slow, and a long list shows many times. */
function perLanguage<Format>(create: (language: string) => Format): (language: string) => Format {
  const made = new Map<string, Format>();
  return (language) => {
    const format = made.get(language) ?? create(language);
    made.set(language, format);
    return format;
  };
}

const relativeFormat = perLanguage((language) => new Intl.RelativeTimeFormat(language, { numeric: "auto" }));
const timeFormat = perLanguage((language) => new Intl.DateTimeFormat(language, { timeStyle: "short" }));
const exactFormat = perLanguage((language) => new Intl.DateTimeFormat(language, { dateStyle: "full", timeStyle: "short" }));

/** Formats a time relative to now, such as "in 3 minutes" or "2 hours ago"; within a minute it is "now". */
export function relativeTime(atMs: number, nowMs: number, language: string): string {
  const distanceMs = atMs - nowMs;
  const [unit, unitMs] = UNITS.find(([, unitMs]) => Math.abs(distanceMs) >= unitMs) ?? ["second", Number.POSITIVE_INFINITY];
  return relativeFormat(language).format(unit === "second" ? 0 : Math.round(distanceMs / unitMs), unit);
}

export function timeOfDay(atMs: number, language: string): string {
  return timeFormat(language).format(atMs);
}

/** Formats a date and time in full. */
export function exactTime(atMs: number, language: string): string {
  return exactFormat(language).format(atMs);
}

/** Formats a day, with its year unless that is the current one. */
export function dayName(atMs: number, nowMs: number, language: string): string {
  const isThisYear = new Date(atMs).getFullYear() === new Date(nowMs).getFullYear();
  const options: Intl.DateTimeFormatOptions = { weekday: "short", day: "numeric", month: "short", ...(!isThisYear && { year: "numeric" }) };
  return new Intl.DateTimeFormat(language, options).format(atMs);
}

/** Counts the calendar days between two times. */
export function daysBetween(earlierMs: number, laterMs: number): number {
  const [earlier, later] = [new Date(earlierMs).setHours(0, 0, 0, 0), new Date(laterMs).setHours(0, 0, 0, 0)];
  return Math.round((later - earlier) / DAY_MS);
}
