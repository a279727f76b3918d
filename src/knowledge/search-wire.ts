import { z } from "@hono/zod-openapi";
import { uuid } from "../platform/http/fields.ts";
import { valueErrorParams } from "../platform/http/validation.ts";

/*
 * The schemas that the route of a question needs: the filter of a search, and the source of a result. They are not in wire.ts, since
 * building all schemas there would slow down an isolate's first question.
 */

const MAX_PAIRS = 16;
const MAX_KEY_CHARS = 40;
const MAX_VALUE_CHARS = 500;
/** Values of one key in a filter. */
const MAX_FILTER_VALUES = 20;

const hasFewPairs = (pairs: object) => Object.keys(pairs).length <= MAX_PAIRS;
const FEW_PAIRS = valueErrorParams(`give at most ${MAX_PAIRS} keys`);
const hasShortKeys = (pairs: object) => Object.keys(pairs).every((key) => key !== "" && Array.from(key).length <= MAX_KEY_CHARS);
const SHORT_KEYS = valueErrorParams(`give each key 1 to ${MAX_KEY_CHARS} characters`);

/** The metadata of a source or answer. */
export const metadata = () =>
  z
    .record(z.string(), z.string().max(MAX_VALUE_CHARS))
    .refine(hasFewPairs, FEW_PAIRS)
    .refine(hasShortKeys, SHORT_KEYS)
    .meta({
      description: `Your labels, which a \`filter\` can name: up to ${MAX_PAIRS} keys of ${MAX_KEY_CHARS} characters, values of ${MAX_VALUE_CHARS}.`,
      example: { product: "billing", region: "eu" },
    });

const filterValues = z.array(z.string()).min(1).max(MAX_FILTER_VALUES);

export const filterSchema = z
  .record(z.string(), z.union([z.string(), filterValues], { error: `give a string, or a list of 1 to ${MAX_FILTER_VALUES} strings` }))
  .refine(hasFewPairs, FEW_PAIRS)
  .nullish()
  .meta({
    description:
      "Restricts the search to sources and curated answers whose `metadata` contain, for each of these keys, this value or one of these values.",
    example: { product: "billing", region: ["eu", "uk"] },
  });

/** A filter of sources and answers: for each key, the metadata contain the value, or one of the values. */
export type MetadataFilter = NonNullable<z.output<typeof filterSchema>>;

/** The source of a passage, in a citation and in the result of a search. */
export const passageFields = {
  title: z
    .string()
    .meta({ description: "The title of the page or text, with the heading above the passage.", example: "Help centre › Refunds" }),
  url: z
    .string()
    .nullable()
    .meta({ description: "The page; null for a text or a curated answer.", example: "https://help.example.com/refunds" }),
  source_id: uuid().meta({ description: "The source, or the curated answer, that it came from." }),
  type: z.enum(["page", "text", "answer"]).meta({ description: "What kind of source it is." }),
};

/** A source that supports an answer. */
export const citationSchema = z
  .object({
    ...passageFields,
    snippet: z.string().meta({
      description: "The beginning of the passage.",
      example: "Refunds are paid within five working days to the card that was charged.",
    }),
    score: z.number().meta({ description: "How well the passage fits the question, from 0 to 1.", example: 0.91 }),
  })
  .openapi("Citation");

export type Citation = z.infer<typeof citationSchema>;
