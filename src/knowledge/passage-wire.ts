import { z } from "@hono/zod-openapi";
import { uuid } from "../platform/http/fields.ts";

/** Where a passage is from, in a citation and in the result of a search. */
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
