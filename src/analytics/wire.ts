import { z } from "@hono/zod-openapi";
import { CHANNELS, CONVERSATION_STATUSES, type ConversationStatus, HANDOFF_REASONS } from "../platform/db/columns.ts";
import { integerQuery, timestamp, toTimestamp, uuid } from "../platform/http/fields.ts";
import { pageOf, pageQuery } from "../platform/http/page.ts";
import { DAY_MS } from "../platform/time.ts";
import { sumByName, type DayRange, medianSeconds, ratesOf, ratio } from "./definitions.ts";
import type { Gap } from "./gaps.ts";
import type { Counters, Day, Sums } from "./store.ts";

const date = () => z.string().meta({ format: "date", example: "2026-01-31" });
const rate = (description: string) =>
  z
    .number()
    .nullable()
    .meta({ description: `${description} Null without any.` });

const totalsShape = {
  conversations: z.int().meta({ description: "Conversations that started." }),
  messages: z.int().meta({ description: "Messages of all authors." }),
  ai_replies: z.int().meta({ description: "Answers of the agent." }),
  human_replies: z.int().meta({ description: "Replies of the team." }),
  leads: z.int().meta({ description: "Leads that were left." }),
  handoffs: z.int().meta({ description: "Hand-offs to a human." }),
};

const totalsSchema = z.object(totalsShape).openapi("AnalyticsTotals");

const ratesSchema = z
  .object({
    ai_resolution: rate("Conversations resolved without hand-off or human reply, of those that the agent took part in."),
    durable_resolution_7d: rate("Such resolutions not reopened within 7 days, of those on days more than 7 days ago."),
    handoff: rate("Conversations handed to a human, of all."),
    reopen: rate("Conversations reopened, of those resolved."),
    unanswered: rate("Questions handed off for missing knowledge, of those that the agent took."),
  })
  .openapi("AnalyticsRates");

const countsByName = <Name extends string>(names: readonly Name[]) =>
  z.object(Object.fromEntries(names.map((name) => [name, z.int().meta({ description: `With ${name}.` })])) as Record<Name, z.ZodInt>);

const seconds = (of: string) =>
  z
    .number()
    .nullable()
    .meta({ description: `From a conversation's start to its first ${of}, within 5 %. Null without any.` });

export const overviewSchema = z
  .object({
    range: z
      .object({
        days: z.int().meta({ description: "How many days it has." }),
        from: date().meta({ description: "The first day." }),
        to: date().meta({ description: "The last day." }),
      })
      .meta({ description: "Whole UTC days, both included; the last is today." }),
    agent_id: uuid().nullable().meta({ description: "The agent that it is limited to; null for all." }),
    totals: totalsSchema.meta({ description: "What happened in the range." }),
    rates: ratesSchema.meta({ description: "How much of it went well." }),
    csat: z
      .object({
        average: z.number().nullable().meta({ description: "1 to 5; null without any." }),
        count: z.int().meta({ description: "How many there are." }),
      })
      .meta({ description: "Visitors' ratings." }),
    feedback: z
      .object({
        up: z.int().meta({ description: "Answers that were rated up." }),
        down: z.int().meta({ description: "Answers that were rated down." }),
      })
      .meta({ description: "How answers were rated: each rating as it is now, on the day it was first given." }),
    times: z
      .object({ median_first_response_seconds: seconds("reply"), median_resolution_seconds: seconds("resolution") })
      .meta({ description: "How long visitors waited." }),
    handoff_reasons: countsByName(HANDOFF_REASONS).meta({ description: "Hand-offs by their reason." }),
    by_channel: countsByName(CHANNELS).meta({ description: "Conversations that started." }),
    by_status: countsByName(CONVERSATION_STATUSES).meta({ description: "All conversations as they are now, whatever the range." }),
    daily: z
      .array(z.object({ date: date().meta({ description: "The day, UTC." }), ...totalsShape }).openapi("AnalyticsDay"))
      .meta({ description: "Each day, oldest first." }),
    top_unanswered: z
      .array(
        z
          .object({
            question: z.string().meta({ description: "The question." }),
            count: z.int().meta({ description: "How often it was asked." }),
          })
          .openapi("UnansweredQuestion"),
      )
      .meta({ description: "At most 10 questions that the agent could not answer, most frequent first." }),
    previous: z
      .object({
        totals: totalsSchema.meta({ description: "What happened then." }),
        rates: ratesSchema.meta({ description: "How much of it went well." }),
      })
      .meta({ description: "The same number of days before." }),
  })
  .openapi("AnalyticsOverview");

export const overviewQuery = z.object({
  days: integerQuery({ min: 1, max: 365, default: 30 }).meta({ description: "How many days, today included." }),
  agent_id: uuid().optional(),
});

/** How many of the times that a question was asked are shown. */
const MAX_SHOWN_EXAMPLES = 5;

const gapExampleSchema = z
  .object({
    question: z.string().meta({ description: "What the visitor asked.", example: "is shipping to iceland possible?" }),
    conversation_id: uuid(),
    message_id: uuid().nullable().meta({ description: "The question that was not answered, or the answer that was rated down." }),
    kind: z.enum(["unanswered", "rated_down"]).meta({ description: "What became of it." }),
    comment: z.string().nullable().meta({ description: "What who rated it down adds." }),
    at: timestamp().meta({ description: "When it was handed off, or rated down." }),
  })
  .openapi("GapExample");

export const gapSchema = z
  .object({
    question: z.string().meta({ description: "The most frequent of the questions.", example: "Do you ship to Iceland?" }),
    count: z.int().meta({ description: "How often it was asked in vain: `unanswered` and `rated_down` together." }),
    unanswered: z.int().meta({ description: "How often it was handed off because the agent could not answer it." }),
    rated_down: z.int().meta({ description: "How many answers to it were rated down." }),
    first_at: timestamp().meta({ description: "When first, in the range." }),
    last_at: timestamp().meta({ description: "When last." }),
    examples: z.array(gapExampleSchema).meta({ description: `The latest ${MAX_SHOWN_EXAMPLES} times, latest first.` }),
  })
  .openapi("Gap");

export const gapPageSchema = pageOf(gapSchema, "GapPage");

export const gapQuery = pageQuery.extend({ days: overviewQuery.shape.days });

/** The wire record of a gap. */
export function toGap({ question, unanswered, ratedDown, firstAt, lastAt, examples }: Gap): z.infer<typeof gapSchema> {
  return {
    question,
    count: unanswered + ratedDown,
    unanswered,
    rated_down: ratedDown,
    first_at: toTimestamp(firstAt),
    last_at: toTimestamp(lastAt),
    examples: examples.slice(0, MAX_SHOWN_EXAMPLES).map(toGapExample),
  };
}

function toGapExample({
  question,
  conversationId,
  messageId,
  kind,
  comment,
  at,
}: Gap["examples"][number]): z.infer<typeof gapExampleSchema> {
  return { question, conversation_id: conversationId, message_id: messageId, kind, comment, at: toTimestamp(at) };
}

type Totals = z.infer<typeof totalsSchema>;

/** The data of an overview. */
interface OverviewData {
  agentId: string | null;
  range: DayRange;
  days: Day[];
  sums: Sums;
  /** By name, of days and of spans of days. */
  counters: Counters[];
  previous: Sums;
  statuses: Record<ConversationStatus, number>;
  /** Most frequent first; the count may be 0. */
  questions: { question: string; count: number }[];
}

/** The overview on the wire. */
export function toOverview({
  agentId,
  range,
  days,
  sums,
  counters,
  previous,
  statuses,
  questions,
}: OverviewData): z.infer<typeof overviewSchema> {
  const { fromDay, toDay } = range;
  return {
    range: { days: toDay - fromDay + 1, from: toDate(fromDay), to: toDate(toDay) },
    agent_id: agentId,
    totals: toTotals(sums),
    rates: ratesOf(sums),
    csat: { average: ratio(sums.csatSum, sums.csatCount), count: sums.csatCount },
    feedback: { up: sums.ratedUp, down: sums.ratedDown },
    times: {
      median_first_response_seconds: medianSeconds(counters.map((each) => each.firstResponses)),
      median_resolution_seconds: medianSeconds(counters.map((each) => each.resolutions)),
    },
    handoff_reasons: sumByName(
      HANDOFF_REASONS,
      counters.map((each) => each.handoffReasons),
    ),
    by_channel: sumByName(
      CHANNELS,
      counters.map((each) => each.channels),
    ),
    by_status: statuses,
    daily: toDaily(days, range),
    top_unanswered: questions.filter(({ count }) => count > 0),
    previous: { totals: toTotals(previous), rates: ratesOf(previous) },
  };
}

const ZERO_COUNTS = { conversations: 0, messages: 0, aiReplies: 0, humanReplies: 0, leads: 0, handoffs: 0 };

/** One entry for each day, including those without rollups. */
function toDaily(days: Day[], { fromDay, toDay }: DayRange): ({ date: string } & Totals)[] {
  const known = new Map(days.map((day) => [day.day, day]));
  return Array.from({ length: toDay - fromDay + 1 }, (_, at) => {
    const day = fromDay + at;
    return { date: toDate(day), ...toTotals(known.get(day) ?? ZERO_COUNTS) };
  });
}

function toTotals({ conversations, messages, aiReplies, humanReplies, leads, handoffs }: typeof ZERO_COUNTS): Totals {
  return { conversations, messages, ai_replies: aiReplies, human_replies: humanReplies, leads, handoffs };
}

function toDate(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}
