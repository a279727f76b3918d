import { type BusinessHours, type TimeInterval, WEEKDAYS } from "../platform/db/columns.ts";
import { LruCache } from "../platform/lru-cache.ts";

/*
 * When the team of a workspace is there. Days and times are those of the workspace's time zone, with the rules of `Intl`. A time that the
 * clocks skip is taken as much later as they go forward, and of a time that comes twice the first one counts.
 */

/** The hours of a workspace that has set nothing: the team is always there. */
const ALWAYS_OPEN: BusinessHours = {
  time_zone: "UTC",
  hours: null,
  holidays: [],
  closed_message: null,
  ask_contact_details: false,
};

/** What stands in a closed message for the time of the next opening. */
export const OPENS_AT = "{{opens_at}}";

/** Whether the team is there, and when it opens next. */
export interface Opening {
  isOpen: boolean;
  /** When the team opens next, Unix milliseconds; null while it is there. */
  opensAtMs: number | null;
}

// The console uses this file, so that it does not import platform/time.ts, which uses the timers of the Workers runtime.
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** 1 January 1970 was a Thursday. */
const FIRST_WEEKDAY = WEEKDAYS.indexOf("thursday");
const DAYS_A_WEEK = WEEKDAYS.length;

/** Returns the business hours with the defaults for what the workspace has not set. */
export function businessHoursOf(stored: Partial<BusinessHours>): BusinessHours {
  return { ...ALWAYS_OPEN, ...stored };
}

/** Returns whether the team is there at a time. */
export function openingAt(businessHours: BusinessHours, nowMs: number): Opening {
  const { time_zone: zone, hours, holidays } = businessHours;
  if (hours === null) return { isOpen: true, opensAtMs: null };
  const today = dayOf(zone, nowMs);
  // Each holiday may put the next opening off by a week at most.
  for (const { fromMs, toMs } of openIntervals(businessHours, today, today + DAYS_A_WEEK * (holidays.length + 1))) {
    if (toMs <= nowMs) continue;
    return fromMs <= nowMs ? { isOpen: true, opensAtMs: null } : { isOpen: false, opensAtMs: fromMs };
  }
  return { isOpen: false, opensAtMs: null };
}

/** Returns for how many milliseconds of a time the team was there. It stops counting at `enoughMs`. */
export function openMsBetween(businessHours: BusinessHours, startMs: number, endMs: number, enoughMs = Infinity): number {
  const { time_zone: zone, hours } = businessHours;
  if (hours === null) return Math.max(0, endMs - startMs);
  let openMs = 0;
  for (const { fromMs, toMs } of openIntervals(businessHours, dayOf(zone, startMs), dayOf(zone, endMs))) {
    openMs += Math.max(0, Math.min(toMs, endMs) - Math.max(fromMs, startMs));
    if (openMs >= enoughMs) break;
  }
  return openMs;
}

/** Yields the intervals in which the team is there, from the first to the last day. Days are counted since 1 January 1970. */
function* openIntervals({ time_zone: zone, hours, holidays }: BusinessHours, firstDay: number, lastDay: number) {
  const closed = new Set(holidays);
  for (let day = firstDay; day <= lastDay; day++) {
    if (closed.has(new Date(day * DAY_MS).toISOString().slice(0, "YYYY-MM-DD".length))) continue;
    for (const { from, to } of hours?.[weekdayOf(day)] ?? []) yield { fromMs: timeOn(zone, day, from), toMs: timeOn(zone, day, to) };
  }
}

/** Returns the day of a time in a zone, counted since 1 January 1970. */
function dayOf(zone: string, ms: number): number {
  return Math.floor((ms + offsetAt(zone, ms)) / DAY_MS);
}

/** @param day days since 1 January 1970. */
function weekdayOf(day: number) {
  return WEEKDAYS[(((day + FIRST_WEEKDAY) % DAYS_A_WEEK) + DAYS_A_WEEK) % DAYS_A_WEEK]!;
}

/** Returns the minute of the day of a time such as 09:30. */
export function minuteOf(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
}

/** Returns the problem of the intervals of a day, which must be sorted; undefined if there is none. */
export function intervalProblem(intervals: readonly TimeInterval[]): string | undefined {
  if (intervals.some(({ from, to }) => minuteOf(to) <= minuteOf(from))) {
    return "end after the start; for hours over midnight, end at 24:00 and start at 00:00 on the next day";
  }
  const isOverlapping = intervals.some(({ from }, at) => at > 0 && minuteOf(from) < minuteOf(intervals[at - 1]!.to));
  return isOverlapping ? "use intervals that do not overlap" : undefined;
}

/** Returns a time of day in a zone in Unix milliseconds. */
function timeOn(zone: string, day: number, time: string): number {
  const localMs = day * DAY_MS + minuteOf(time) * MINUTE_MS;
  // The clocks change at most once within these two days.
  const [before, after] = [offsetAt(zone, localMs - DAY_MS), offsetAt(zone, localMs + DAY_MS)];
  const offset = [Math.max(before, after), Math.min(before, after)].find((each) => offsetAt(zone, localMs - each) === each);
  return localMs - (offset ?? before);
}

const MAX_FORMATS = 200;
/** Creating a format takes 20 to 50 times as long as using it. */
const formats = new LruCache<string, Intl.DateTimeFormat>(MAX_FORMATS);

function formatOf(language: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = JSON.stringify([language, options]);
  let format = formats.get(key);
  if (!format) {
    format = new Intl.DateTimeFormat(language, options);
    formats.set(key, format);
  }
  return format;
}

/** Returns by how many milliseconds the clocks of a zone are ahead of UTC. @throws RangeError if there is no such zone. */
function offsetAt(timeZone: string, ms: number): number {
  const numbers = { year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric" } as const;
  // Written as 11/30/2026, 09:00:00. Reading this takes half as long as asking for the parts.
  const written = formatOf("en-US", { timeZone, hourCycle: "h23", ...numbers }).format(ms);
  const [month = 0, day, year = 0, hour, minute, second] = written.match(/\d+/g)!.map(Number);
  const localMs = Date.UTC(year, month - 1, day, hour, minute, second);
  return localMs - Math.floor(ms / 1000) * 1000;
}

/** Returns whether a name is one of the IANA time zone database. */
export function isTimeZone(name: string): boolean {
  try {
    offsetAt(name, 0);
    // An offset such as +02:00 has no daylight saving time.
    return /^[A-Za-z]/.test(name);
  } catch {
    return false;
  }
}

/** From this time on, an opening is written with its date. */
const NEAR_MS = 6 * DAY_MS;

/** Returns an opening as visitors read it, such as "Monday 9:00 AM GMT+1". @param language a BCP 47 tag. */
export function openingText({ time_zone: timeZone }: BusinessHours, language: string, opensAtMs: number, nowMs: number): string {
  const date = opensAtMs - nowMs < NEAR_MS ? {} : ({ day: "numeric", month: "long" } as const);
  const time = { hour: "numeric", minute: "2-digit", timeZoneName: "short" } as const;
  return formatOf(language, { timeZone, weekday: "long", ...date, ...time }).format(opensAtMs);
}
