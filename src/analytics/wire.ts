import { z } from "@hono/zod-openapi";
import { CHANNELS, CONVERSATION_STATUSES, type ConversationStatus, HANDOFF_REASONS } from "../platform/db/columns.ts";
import { agentRef, integerQuery, timestamp, toRecord, toTimestamp, uuid } from "../platform/http/fields.ts";
import { pageOf, pageQuery } from "../platform/http/page.ts";
import { DAY_MS } from "../platform/time.ts";
import { sumByName, type DayRange, medianSeconds, ratesOf, ratio } from "./definitions.ts";
import type { Gap } from "./gaps.ts";
import type { Counters, Day, Sums } from "./store.ts";
import type { VersionCounts } from "./version-store.ts";

const date = () => z.string().meta({ format: "date", example: "2026-01-31" });
const rate = (description: string) =>
  z
    .number()
    .nullable()
    .meta({ description: `${description} Null if there are none.` });

const totalsShape = {
  conversations: z.int().meta({ description: "Conversations that started." }),
  messages: z.int().meta({ description: "Messages of all authors." }),
  ai_replies: z.int().meta({ description: "Answers of the agent." }),
  human_replies: z.int().meta({ description: "Replies of the team." }),
  leads: z.int().meta({ description: "Leads that visitors left." }),
  handoffs: z.int().meta({ description: "Hand-offs to a human." }),
};

const totalsSchema = z.object(totalsShape).openapi("AnalyticsTotals");

const ratesSchema = z
  .object({
    ai_resolution: rate(
      "The share of conversations that were resolved without a hand-off or a human reply, among those in which the agent wrote.",
    ),
    durable_resolution_7d: rate(
      "The share of such resolutions that were not reopened within 7 days, among those that are more than 7 days old.",
    ),
    handoff: rate("The share of conversations that were handed to a human."),
    reopen: rate("The share of resolved conversations that were reopened."),
    unanswered: rate("The share of questions to the agent that were handed off because knowledge was missing."),
  })
  .openapi("AnalyticsRates");

const countsByName = <Name extends string>(names: readonly Name[]) =>
  z.object(
    Object.fromEntries(names.map((name) => [name, z.int().meta({ description: `The number with ${name}.` })])) as Record<Name, z.ZodInt>,
  );

const seconds = (span: string) =>
  z
    .number()
    .nullable()
    .meta({ description: `The median time from ${span}, accurate to 5 %. Null if there are none.` });

export const overviewSchema = z
  .object({
    range: z
      .object({
        days: z.int().meta({ description: "The number of days of the range." }),
        from: date().meta({ description: "The first day." }),
        to: date().meta({ description: "The last day." }),
      })
      .meta({ description: "The range consists of whole UTC days, of which the last one is today." }),
    agent_id: uuid().nullable().meta({ description: "The agent that the figures are limited to; null for all agents." }),
    totals: totalsSchema.meta({ description: "The counts of the range." }),
    rates: ratesSchema.meta({ description: "The rates of the range." }),
    csat: z
      .object({
        average: z.number().nullable().meta({ description: "The average score, 1 to 5; null if there are no ratings." }),
        count: z.int().meta({ description: "The number of ratings." }),
      })
      .meta({ description: "Visitors' ratings of conversations." }),
    feedback: z
      .object({
        up: z.int().meta({ description: "Answers that were rated up." }),
        down: z.int().meta({ description: "Answers that were rated down." }),
      })
      .meta({ description: "Ratings of answers. Each rating counts with its present value, on the day on which it was first given." }),
    times: z
      .object({
        median_first_response_seconds: seconds("the start of a conversation to its first reply, by the agent or the team"),
        median_team_reply_seconds: seconds(
          "a hand-off to the first reply of the team. A hand-off counts on its own day, once the team has replied before it was resolved",
        ),
        median_resolution_seconds: seconds("the start of a conversation to its first resolution"),
      })
      .meta({ description: "How long visitors waited for a reply and a resolution." }),
    handoff_reasons: countsByName(HANDOFF_REASONS).meta({ description: "Hand-offs by reason." }),
    by_channel: countsByName(CHANNELS).meta({
      description: "Conversations that started, by channel. Those in the `playground` do not count.",
    }),
    by_status: countsByName(CONVERSATION_STATUSES).meta({ description: "All conversations by their present status, whatever the range." }),
    daily: z
      .array(z.object({ date: date().meta({ description: "The day, UTC." }), ...totalsShape }).openapi("AnalyticsDay"))
      .meta({ description: "The figures of each day, oldest first." }),
    top_unanswered: z
      .array(
        z
          .object({
            question: z.string().meta({ description: "The question." }),
            count: z.int().meta({ description: "How often the question was asked." }),
          })
          .openapi("UnansweredQuestion"),
      )
      .meta({ description: "At most 10 questions that the agent could not answer, most frequent first." }),
    previous: z
      .object({
        totals: totalsSchema.meta({ description: "The counts of those days." }),
        rates: ratesSchema.meta({ description: "The rates of those days." }),
      })
      .meta({ description: "The same number of days before the range." }),
  })
  .openapi("AnalyticsOverview");

export const overviewQuery = z.object({
  days: integerQuery({ min: 1, max: 365, default: 30 }).meta({ description: "The number of days, including today." }),
  agent_id: agentRef().optional(),
});

/** How many examples of a gap are shown. */
const MAX_SHOWN_EXAMPLES = 5;

const gapExampleSchema = z
  .object({
    question: z.string().meta({ description: "What the visitor asked.", example: "is shipping to iceland possible?" }),
    conversation_id: uuid(),
    message_id: uuid().nullable().meta({ description: "The message with the unanswered question, or the answer that was rated down." }),
    kind: z
      .enum(["unanswered", "rated_down"])
      .meta({ description: "Whether the question was not answered, or its answer was rated down." }),
    comment: z.string().nullable().meta({ description: "The comment on the rating; null without one." }),
    at: timestamp().meta({ description: "When the question was handed off, or the answer was rated down." }),
  })
  .openapi("GapExample");

const gapSchema = z
  .object({
    question: z.string().meta({ description: "The most frequent wording of the question.", example: "Do you ship to Iceland?" }),
    count: z
      .int()
      .meta({ description: "How often the question was asked without a good answer: the sum of `unanswered` and `rated_down`." }),
    unanswered: z.int().meta({ description: "How often the question was handed off because the agent could not answer it." }),
    rated_down: z.int().meta({ description: "The number of answers to the question that were rated down." }),
    first_at: timestamp().meta({ description: "When it was first asked in the range." }),
    last_at: timestamp().meta({ description: "When it was last asked." }),
    examples: z.array(gapExampleSchema).meta({ description: `The latest ${MAX_SHOWN_EXAMPLES} times that it was asked, latest first.` }),
  })
  .openapi("Gap");

export const gapPageSchema = pageOf(gapSchema, "GapPage");

export const gapQuery = pageQuery.extend({ days: overviewQuery.shape.days });

const versionAnalyticsSchema = z
  .object({
    version: z.int().meta({ description: "The number of the version.", example: 3 }),
    note: z.string().nullable().meta({ description: "What its author wrote about it.", example: "Shorter answers" }),
    created_at: timestamp(),
    conversations: z.int().meta({ description: "Conversations that started with the version, and in which the agent wrote." }),
    ai_replies: z.int().meta({ description: "Answers that the version wrote, hand-off messages included." }),
    rates: z
      .object({
        ai_resolution: rate("The share of its conversations that were resolved without a hand-off or a human reply."),
        handoff: rate("The share of its conversations that were handed to a human."),
        handoff_reply: rate("The share of its answers that handed the conversation to a human."),
      })
      .meta({ description: "The rates of the version." }),
    csat: overviewSchema.shape.csat,
    feedback: overviewSchema.shape.feedback.meta({ description: "Ratings of its answers, each with its present value." }),
  })
  .openapi("AgentVersionAnalytics");

export const versionAnalyticsPageSchema = pageOf(versionAnalyticsSchema, "AgentVersionAnalyticsPage");

export const versionAnalyticsQuery = pageQuery.extend({ agent_id: agentRef() });

/** Returns the wire record of the counts of a version. */
export function toVersionAnalytics(row: VersionCounts): z.infer<typeof versionAnalyticsSchema> {
  return toRecord(versionAnalyticsSchema, row, {
    rates: {
      ai_resolution: ratio(row.aiResolved, row.conversations),
      handoff: ratio(row.handedOff, row.conversations),
      handoff_reply: ratio(row.handoffReplies, row.aiReplies),
    },
    csat: { average: ratio(row.csatSum, row.csatCount), count: row.csatCount },
    feedback: { up: row.ratedUp, down: row.ratedDown },
  });
}

/** Returns the wire record of a gap. */
export function toGap(gap: Gap): z.infer<typeof gapSchema> {
  const latest = gap.examples.slice(0, MAX_SHOWN_EXAMPLES);
  return toRecord(gapSchema, gap, {
    count: gap.unanswered + gap.ratedDown,
    examples: latest.map((example) => toRecord(gapExampleSchema, example, { at: toTimestamp(example.at) })),
  });
}

/** The data of an overview. */
interface OverviewData {
  agentId: string | null;
  range: DayRange;
  days: Day[];
  sums: Sums;
  /** The counters by name of single days and of spans of days. */
  counters: Counters[];
  previous: Sums;
  statuses: Record<ConversationStatus, number>;
  /** The unanswered questions, most frequent first. The count may be 0. */
  questions: { question: string; count: number }[];
}

/** Returns the wire record of an overview. */
export function toOverview({ agentId, range, days, statuses, ...data }: OverviewData): z.infer<typeof overviewSchema> {
  const { sums, previous, counters } = data;
  const { fromDay, toDay } = range;
  const totalsOf = (row: typeof NOTHING_COUNTED) => toRecord(totalsSchema, row, {});
  const dayOf = new Map(days.map((day) => [day.day, day]));
  return {
    range: { days: toDay - fromDay + 1, from: toDate(fromDay), to: toDate(toDay) },
    agent_id: agentId,
    totals: totalsOf(sums),
    rates: ratesOf(sums),
    csat: { average: ratio(sums.csatSum, sums.csatCount), count: sums.csatCount },
    feedback: { up: sums.ratedUp, down: sums.ratedDown },
    times: {
      median_first_response_seconds: medianSeconds(counters.map((each) => each.firstResponses)),
      median_team_reply_seconds: medianSeconds(counters.map((each) => each.teamReplies)),
      median_resolution_seconds: medianSeconds(counters.map((each) => each.resolutions)),
    },
    handoff_reasons: sumByName(HANDOFF_REASONS, counters, "handoffReasons"),
    by_channel: sumByName(CHANNELS, counters, "channels"),
    by_status: statuses,
    daily: Array.from({ length: toDay - fromDay + 1 }, (_, at) => {
      const day = fromDay + at;
      return { date: toDate(day), ...totalsOf(dayOf.get(day) ?? NOTHING_COUNTED) };
    }),
    top_unanswered: data.questions.filter(({ count }) => count > 0),
    previous: { totals: totalsOf(previous), rates: ratesOf(previous) },
  };
}

/** The counts of a day without rollups. */
const NOTHING_COUNTED = { conversations: 0, messages: 0, aiReplies: 0, humanReplies: 0, leads: 0, handoffs: 0 };

function toDate(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}
