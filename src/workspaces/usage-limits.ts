import { DAY_MS, HOUR_MS } from "../platform/time.ts";
import type { Limits } from "./plans.ts";

/** What visitors send: messages on every channel but the API, leads, and files. */
export type SentByVisitors = "messages" | "leads" | "attachments";

/** What is counted by the day. All but the first three are counted for the whole workspace, not for each sender. */
export const COUNTED_PER_DAY = [
  "messages",
  "leads",
  "attachments",
  "team_messages",
  "evaluation_cases",
  "erasures",
  "syncs",
  "deliveries",
] as const;
export type CountedPerDay = (typeof COUNTED_PER_DAY)[number];

const LIMIT_OF = {
  messages: "visitor_messages_per_day",
  leads: "leads_per_day",
  attachments: "visitor_attachments_per_day",
} as const satisfies Record<SentByVisitors, keyof Limits>;

/** The smallest hourly limit of one sender, which is more than a person sends. */
const SENDER_MINIMUM: Record<SentByVisitors, number> = { messages: 30, leads: 10, attachments: 20 };
/** On larger plans a sender may use this share of a day's limit in an hour: many people may share an address. */
const SENDER_SHARE = 1 / 10;

/** The share of a day's limit that a group may use. All staff of a company may write to one helpdesk. */
const GROUP_SHARE = 1 / 2;

/** The sender under which the whole workspace is counted. */
export const ALL_SENDERS = "";

/** How much visitors may send. Sessions store it with a turn, so the names of its fields must not change. */
export interface VisitorLimit {
  flow: SentByVisitors;
  perDay: number;
  /** A hash of the address, the verified person or the group; null if no single sender is limited. */
  sender: string | null;
  /** Whether the sender may be many people, such as the domain of a mail address, so that it is limited by the day alone. */
  isGroup?: true;
  /** Whether only messages that do not use the monthly quota count, as over the API: the quota limits the others. */
  onlyOutsideQuota?: true;
}

/** A period in which what a workspace or one sender does is counted up to a limit. */
export interface LimitWindow {
  flow: CountedPerDay;
  sender: string;
  startMs: number;
  endMs: number;
  limit: number;
}

/** How much was counted in a window. */
export type WindowCount = Pick<LimitWindow, "flow" | "sender" | "startMs"> & { count: number };

/** Returns how much of something visitors may send to a workspace. */
export function visitorLimitOf(limits: Limits, flow: SentByVisitors, sender: string | null): VisitorLimit {
  return { flow, perDay: limits[LIMIT_OF[flow]], sender };
}

/** Returns the windows that a time falls into: all senders' UTC day, and the sender's hour. */
export function windowsOf({ flow, perDay, sender, isGroup }: VisitorLimit, nowMs: number): LimitWindow[] {
  const perHour = Math.max(SENDER_MINIMUM[flow], Math.ceil(perDay * SENDER_SHARE));
  const day = dayWindow(flow, perDay, nowMs);
  if (sender === null) return [day];
  if (isGroup) return [day, { ...day, sender, limit: Math.ceil(perDay * GROUP_SHARE) }];
  const hourMs = nowMs - (nowMs % HOUR_MS);
  return [day, { flow, sender, startMs: hourMs, endMs: hourMs + HOUR_MS, limit: perHour }];
}

/** Returns the window of the UTC day that a time falls into, for all senders together. */
export function dayWindow(flow: CountedPerDay, limit: number, nowMs: number): LimitWindow {
  const startMs = startOfDay(nowMs);
  return { flow, sender: ALL_SENDERS, startMs, endMs: startMs + DAY_MS, limit };
}

/** Returns the start of a time's UTC day. */
export function startOfDay(nowMs: number): number {
  return nowMs - (nowMs % DAY_MS);
}

/** Returns the window without room for `more` that ends last; undefined if all have room. */
export function findFullWindow(windows: readonly LimitWindow[], counts: readonly WindowCount[], more = 1): LimitWindow | undefined {
  const countOf = ({ flow, sender, startMs }: LimitWindow) =>
    counts.find((counted) => counted.flow === flow && counted.sender === sender && counted.startMs === startMs)?.count ?? 0;
  return windows.filter((window) => countOf(window) + more > window.limit).sort((a, b) => b.endMs - a.endMs)[0];
}
