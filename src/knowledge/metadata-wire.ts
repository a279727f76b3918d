import { z } from "@hono/zod-openapi";
import { valueErrorParams } from "../platform/http/validation.ts";

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
      "Only sources and curated answers are used whose `metadata` have, for each of these keys, this value or one of these values.",
    example: { product: "billing", region: ["eu", "uk"] },
  });

/** What the metadata of a source or answer must hold: for each key the value, or one of the values. */
export type MetadataFilter = NonNullable<z.output<typeof filterSchema>>;
