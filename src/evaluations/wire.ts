import { z } from "@hono/zod-openapi";
import { traceFactsSchema } from "../chat/trace-wire.ts";
import { EVALUATION_STATUSES, VERDICTS } from "../platform/db/columns.ts";
import type { evaluationCases, evaluations } from "../platform/db/schema.ts";
import { timestamp, toRecord, uuid } from "../platform/http/fields.ts";
import { pageOf } from "../platform/http/page.ts";
import { caseAsGiven, caseInSchema, type EvaluationCheck, multiTurnFields, type MultiTurnResult } from "./case-wire.ts";
import { comparer, metricsOf } from "./metrics.ts";

/** The most cases of an evaluation. */
export const MAX_CASES = 500;
const SOURCE = "019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00";

export const evaluationInSchema = z
  .object({
    name: z.string().min(1).max(120).nullable().default(null).meta({ description: "The name of the evaluation." }),
    cases: z
      .array(caseInSchema)
      .min(1)
      .max(MAX_CASES)
      .meta({ description: "The questions and conversations, each with what is expected." }),
    version: z
      .union([z.int().gte(1).lte(999_999_999), z.literal("draft")], "write the number of a version, or draft")
      .nullable()
      .default(null)
      .meta({
        description: "The version of the agent that answers, or `draft`; by default the published one. It needs the scope `agents:write`.",
      }),
  })
  .openapi("EvaluationIn", {
    example: {
      name: "After the new refund policy",
      cases: [
        { question: "How long do refunds take?", expect: { answer_contains: "five working days" } },
        { question: "Who won the world cup?", expect: { refusal: true } },
      ],
    },
  });

const count = (description: string) => z.int().meta({ description, example: 12 });

export const evaluationSchema = z
  .object({
    id: uuid(),
    agent_id: uuid(),
    name: z.string().nullable().meta({ description: "The name of the evaluation.", example: "After the new refund policy" }),
    status: z.enum(EVALUATION_STATUSES).meta({ description: "Whether the evaluation waits, runs or has ended.", example: "running" }),
    cases_count: count("The number of cases."),
    done_count: count("The number of cases that have run."),
    version: z
      .int()
      .nullable()
      .meta({ description: "The version of the agent that answers, 0 for its draft; null for the published one.", example: null }),
    right_count: count("Cases with the expected answer."),
    wrong_count: count("Cases with another answer, or with an answer where a refusal is expected."),
    refused_count: count("Cases that were handed over although an answer is expected."),
    failed_count: count("Cases in which the model failed, so that they do not test the knowledge."),
    error: z.string().nullable().meta({ description: "Why the evaluation failed; null if it did not fail.", example: null }),
    started_at: timestamp().nullable().meta({ description: "When its first case started." }),
    completed_at: timestamp().nullable().meta({ description: "When it ended." }),
    created_at: timestamp(),
  })
  .openapi("Evaluation");

export const evaluationPageSchema = pageOf(evaluationSchema, "EvaluationPage");

const share = (description: string) =>
  z
    .number()
    .nullable()
    .meta({ description: `${description} Null if there is no such case.`, example: 0.9 });

const metricsSchema = z
  .object({
    accuracy: share("The share of right cases among those that did not fail."),
    recall: share("Among the cases with a `source_id`, the share in which the search found it, whether or not the answer cites it."),
    recall_cases: count("How many cases have a `source_id`."),
    brier: share(
      "The Brier score of the confidence, among the right and wrong answers, without hand-offs: 0 is best, 0.25 is as good as guessing.",
    ),
    calibration: z
      .array(
        z.object({
          from: z.number().meta({ description: "The lowest confidence of the range.", example: 0.8 }),
          to: z.number().meta({ description: "The highest confidence of the range.", example: 1 }),
          cases: count("The number of right and wrong answers in the range."),
          confidence: share("Their average confidence."),
          right: share("The share of them that is right. If the agent is well calibrated, it is close to the confidence."),
        }),
      )
      .meta({ description: "The answers by ranges of confidence, without hand-offs." }),
  })
  .openapi("EvaluationMetrics");

const verdictSchema = () => z.enum(VERDICTS).nullable();

export const caseSchema = z
  .object({
    position: z.int().meta({ description: "The position of the case in the evaluation, from 0.", example: 0 }),
    ...caseAsGiven,
    ...multiTurnFields,
    verdict: verdictSchema().meta({ description: "The verdict; null until the case has run.", example: "right" }),
    answer: z.string().nullable().meta({
      description: "The first 1,000 characters of the agent's answer, with several turns of the last one.",
      example: "Refunds are paid within five working days.",
    }),
    confidence: z
      .number()
      .nullable()
      .meta({ description: "0 to 1: how likely the agent thinks it is right; null with several turns.", example: 0.86 }),
    source_found: z
      .boolean()
      .nullable()
      .meta({ description: "Whether the search found the expected source; null if none is expected.", example: null }),
    before: verdictSchema().meta({ description: "The verdict in the run that this one is compared with.", example: null }),
    change: z.enum(["better", "worse", "same", "new"]).nullable().meta({
      description:
        "The change since that run: right is better than refused, and refused is better than wrong. Null without a comparison or a verdict.",
      example: null,
    }),
    trace: traceFactsSchema
      .nullable()
      .meta({ description: "How the answer, or the last one, was found, in at most 3 KB; null until the case has run." }),
  })
  .openapi("EvaluationCase");

export const evaluationResultSchema = evaluationSchema
  .extend({
    metrics: metricsSchema.meta({ description: "The figures of the cases that have run." }),
    comparison: z
      .object({
        evaluation_id: uuid().meta({ description: "The run that this one is compared with." }),
        better: count("Cases that have become better."),
        worse: count("Cases that have become worse."),
        same: count("Cases that have not changed."),
        new: count("Cases that the other run does not have."),
        missing: count("Cases of the other run that are missing here."),
      })
      .nullable()
      .meta({
        description:
          "The changes since the run named by `compare_to`. Cases are matched by their question and the previous messages and, with several turns, by their persona and tools.",
      }),
    cases: z.array(caseSchema).meta({ description: "All cases, in their order." }),
  })
  .openapi("EvaluationResult");

export const evaluationQuery = z.object({
  compare_to: uuid().optional().meta({ description: "An earlier evaluation of the agent, to compare this one with.", example: SOURCE }),
});

export const addCaseQuery = z.object({
  replaces: z
    .string()
    .regex(/^\d{1,3}$/)
    .optional()
    .transform((text) => (text === undefined ? undefined : Number(text)))
    .meta({
      type: "integer",
      minimum: 0,
      maximum: 999,
      description: "The position of the case that this one replaces, whatever it asks. By default, it replaces one that asks the same.",
    }),
});

type EvaluationRow = typeof evaluations.$inferSelect;
type CaseRow = typeof evaluationCases.$inferSelect;

/** The wire record of an evaluation. */
export function toEvaluation(row: EvaluationRow): z.infer<typeof evaluationSchema> {
  const { right = 0, wrong = 0, refused = 0, failed = 0 } = row.verdicts;
  const done = right + wrong + refused + failed;
  return toRecord(evaluationSchema, row, {
    done_count: done,
    right_count: right,
    wrong_count: wrong,
    refused_count: refused,
    failed_count: failed,
  });
}

/** The wire record of an evaluation with its cases, compared with an earlier one if it is given. */
export function toEvaluationResult(row: EvaluationRow, cases: readonly CaseRow[], earlier?: { id: string; cases: readonly CaseRow[] }) {
  const compare = earlier && comparer(earlier.cases);
  const shown = cases.map((one) => toCase(one, compare?.(one)));
  const changed = (change: string) => shown.filter((one) => one.change === change).length;
  const comparison = earlier && {
    evaluation_id: earlier.id,
    better: changed("better"),
    worse: changed("worse"),
    same: changed("same"),
    new: changed("new"),
    missing: earlier.cases.length - shown.filter(({ change }) => change !== "new").length,
  };
  return { ...toEvaluation(row), metrics: metricsOf(cases), comparison: comparison ?? null, cases: shown };
}

/** The fields that the column `evaluation_cases.trace` holds in addition to the trace. */
type Result = MultiTurnResult & { checks: EvaluationCheck[] };

const NOT_COMPARED = { before: null, change: null };

/** The wire record of a case. */
export function toCase(
  row: CaseRow,
  since: Pick<z.infer<typeof caseSchema>, "before" | "change"> = NOT_COMPARED,
): z.infer<typeof caseSchema> {
  const { end, transcript = [], checks = [], ...facts }: Partial<Result> = row.verdict === null ? {} : row.trace;
  const { rehearsal: multiTurn, ...expect } = row.expect;
  const messages = [...row.previous, row.question];
  const turns = multiTurn?.setting.persona ? null : (multiTurn?.turns.map((one, at) => ({ visitor: messages[at]!, expect: one })) ?? null);
  const { persona = null, tools = null } = multiTurn?.setting ?? {};
  // A case of several turns that failed before its first answer has no trace.
  const trace = "decision" in facts ? (facts as z.infer<typeof traceFactsSchema>) : null;
  return toRecord(caseSchema, row, { ...since, expect, turns, persona, tools, end: end ?? null, transcript, checks, trace });
}
