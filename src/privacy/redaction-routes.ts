import { createRoute, z } from "@hono/zod-openapi";
import type { RedactionSettings } from "../platform/db/columns.ts";
import { jsonBody } from "../platform/http/body.ts";
import { invalid, notFound, type ValidationItem } from "../platform/http/errors.ts";
import { errorResponses, jsonResponse } from "../platform/http/responses.ts";
import { createRouter } from "../platform/http/router.ts";
import { addProblem, valueError, valueErrorParams } from "../platform/http/validation.ts";
import { compilePattern, PATTERN_REFUSAL } from "../platform/linear-pattern.ts";
import { monthOf } from "../platform/time.ts";
import { createRedactor, MAX_ALL_INSTRUCTIONS, MAX_PATTERN_INSTRUCTIONS, NO_REDACTION } from "../redaction/redactor.ts";
import { findRedaction, findRedactionCounts, updateRedaction } from "../redaction/store.ts";
import { needsScope, operationOf } from "../workspaces/checks.ts";
import { reloadGate } from "../workspaces/gate.ts";

export const redactionRoutes = createRouter("Privacy");

const MAX_PATTERNS = 10;
const MAX_PATTERN_LENGTH = 200;
const MAX_PREVIEW_LENGTH = 8_000;
/** Letters and digits, with spaces, hyphens and underscores between them, so that a mask is easily told from the text around it. */
const NAME = /^[\p{L}\p{N}](?:[\p{L}\p{N} _-]{0,38}[\p{L}\p{N}])?$/u;
const BUILT_IN = new Set(["card", "iban"]);

const patternSchema = z
  .object({
    name: z
      .string()
      .refine(
        (name) => NAME.test(name),
        valueErrorParams("use 1 to 40 letters and digits, with spaces, hyphens and underscores between them"),
      )
      .refine((name) => !BUILT_IN.has(name.toLowerCase()), valueErrorParams("choose another name, because this one is built in"))
      .meta({ description: "What is masked. The mask is `[redacted: NAME]`.", example: "customer number" }),
    pattern: z.string().min(1).max(MAX_PATTERN_LENGTH).meta({
      description:
        "A regular expression of RE2, without lookaround and references to groups. Before it is matched, digits of all scripts become 0 to 9, and characters that are not seen are left out.",
      example: "KD-[0-9]{6}",
    }),
  })
  .openapi("RedactionPattern");

const patternsSchema = z
  .array(patternSchema)
  .max(MAX_PATTERNS)
  .superRefine((patterns, ctx) => {
    const names = patterns.map(({ name }) => name.toLowerCase());
    for (const [at, name] of names.entries()) {
      if (names.indexOf(name) < at) addProblem(ctx, "use each name once", at, "name");
    }
  });

const fields = {
  card: z.boolean().meta({ description: "Whether the numbers of payment cards are masked." }),
  iban: z.boolean().meta({ description: "Whether IBANs are masked." }),
  patterns: patternsSchema.meta({ description: "Your own patterns. A change replaces all of them." }),
};

const redactionUpdateSchema = z
  .object({ card: fields.card.optional(), iban: fields.iban.optional(), patterns: fields.patterns.optional() })
  .openapi("RedactionUpdate", { example: { card: true, iban: true, patterns: [{ name: "customer number", pattern: "KD-[0-9]{6}" }] } });

const redactionSchema = z
  .object({
    ...fields,
    counts: z
      .object({
        month: z.string().meta({ description: "The current month, UTC.", example: "2026-11" }),
        card: z.int().meta({ description: "Numbers of cards that were masked.", example: 12 }),
        iban: z.int().meta({ description: "IBANs that were masked.", example: 3 }),
        patterns: z
          .record(z.string(), z.int())
          .meta({ description: "Matches of your patterns that were masked, by name.", example: { "customer number": 40 } }),
      })
      .meta({ description: "How often something was masked in this month. A request that is repeated counts again." }),
  })
  .openapi("Redaction");

function toRedaction(
  stored: Partial<RedactionSettings>,
  { card = 0, iban = 0, ...patterns }: Record<string, number>,
  month: string,
): z.infer<typeof redactionSchema> {
  return { ...NO_REDACTION, ...stored, counts: { month, card, iban, patterns } };
}

const getRedaction = createRoute({
  operationId: "getRedaction",
  method: "get",
  path: "/privacy/redaction",
  summary: "Get what is masked in texts, and how often",
  ...needsScope("privacy:read"),
  responses: { 200: jsonResponse(redactionSchema, "The settings, and the counts of this month."), ...errorResponses(403, 404) },
});

redactionRoutes.openapi(getRedaction, async (c) => {
  const { db, workspaceId, nowMs } = operationOf(c);
  const month = monthOf(nowMs);
  const [[found], [counted]] = await db.batch([findRedaction(db, workspaceId), findRedactionCounts(db, workspaceId, month)]);
  if (!found) throw notFound("workspace");
  return c.json(toRedaction(found.redaction, counted?.counts ?? {}, month), 200);
});

const updateRoute = createRoute({
  operationId: "updateRedaction",
  method: "patch",
  path: "/privacy/redaction",
  summary: "Change what is masked in texts",
  description:
    "Masks the numbers of payment cards, IBANs and matches of your own patterns in what visitors, your team and tools write, before it is stored or sent anywhere. The change is in effect with the next request, and does not change what is stored. What is masked cannot be restored.",
  ...needsScope("privacy:write"),
  request: { body: jsonBody(redactionUpdateSchema) },
  responses: { 200: jsonResponse(redactionSchema, "The settings, and the counts of this month."), ...errorResponses(403, 404, 422) },
});

redactionRoutes.openapi(updateRoute, async (c) => {
  const changes = c.req.valid("json") as Partial<RedactionSettings>;
  await requireUsablePatterns(changes.patterns ?? []);
  const op = operationOf(c);
  const { db, workspaceId, nowMs } = op;
  const month = monthOf(nowMs);
  const [[changed], [counted]] = await db.batch([
    updateRedaction(db, workspaceId, changes, nowMs),
    findRedactionCounts(db, workspaceId, month),
  ]);
  if (!changed) throw notFound("workspace");
  await reloadGate(op);
  return c.json(toRedaction(changed.redaction, counted?.counts ?? {}, month), 200);
});

const previewInSchema = z
  .object({
    ...redactionUpdateSchema.shape,
    text: z.string().max(MAX_PREVIEW_LENGTH).meta({ description: "The text to try out. It is not stored." }),
  })
  .openapi("RedactionPreviewIn", { example: { text: "My card is 4111 1111 1111 1111.", card: true } });

const previewSchema = z
  .object({
    text: z.string().meta({ description: "The text as it would be stored.", example: "My card is [redacted: card]." }),
    counts: z.record(z.string(), z.int()).meta({ description: "What was masked, by kind.", example: { card: 1 } }),
  })
  .openapi("RedactionPreview");

const previewRoute = createRoute({
  operationId: "previewRedaction",
  method: "post",
  path: "/privacy/redaction/preview",
  summary: "Try out what is masked in a text",
  description: "Masks a text with these settings, or with the workspace's where one is left out. Nothing is stored or counted.",
  ...needsScope("privacy:read"),
  request: { body: jsonBody(previewInSchema) },
  responses: { 200: jsonResponse(previewSchema, "The masked text."), ...errorResponses(403, 422) },
});

redactionRoutes.openapi(previewRoute, async (c) => {
  const { text, ...settings } = c.req.valid("json") as Partial<RedactionSettings> & { text: string };
  await requireUsablePatterns(settings.patterns ?? []);
  const redactor = await createRedactor({ ...NO_REDACTION, ...c.get("caller").workspace.redaction, ...settings });
  const { text: masked, counts } = redactor.redact(text);
  return c.json({ text: masked, counts: Object.fromEntries(counts) }, 200);
});

/** @throws ApiError validation_error if a pattern cannot be used, with its path. */
async function requireUsablePatterns(patterns: readonly { pattern: string }[]): Promise<void> {
  const failed: ValidationItem[] = [];
  let instructions = 0;
  for (const [at, { pattern }] of patterns.entries()) {
    const problem = await problemOf(pattern);
    if (problem !== undefined) failed.push({ loc: ["body", "patterns", at, "pattern"], ...valueError(problem), input: pattern });
  }
  if (failed.length > 0) throw invalid(failed);

  async function problemOf(pattern: string): Promise<string | undefined> {
    const compiled = await compilePattern(pattern, MAX_PATTERN_INSTRUCTIONS);
    if (!compiled) return PATTERN_REFUSAL;
    if (compiled.test("")) return "it matches an empty text: write one that matches at least one character";
    instructions += compiled.programSize();
    return instructions > MAX_ALL_INSTRUCTIONS ? "the patterns are too large together: write simpler ones" : undefined;
  }
}
