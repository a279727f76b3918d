import { z } from "@hono/zod-openapi";
import type { BusinessHours, WEEKDAYS } from "../platform/db/columns.ts";
import { filledText, timestamp, toTimestampOrNull } from "../platform/http/fields.ts";
import { addProblem, valueErrorParams } from "../platform/http/validation.ts";
import { intervalProblem, isTimeZone, minuteOf, openingAt, OPENS_AT } from "./business-hours.ts";

const MAX_INTERVALS = 6;
const MAX_HOLIDAYS = 100;
const MAX_MESSAGE_LENGTH = 2_000;
const MAX_ZONE_LENGTH = 64;

const intervalSchema = z.object({
  from: z
    .string()
    .regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, "use a time such as 09:00")
    .meta({ description: "When it begins.", example: "09:00" }),
  to: z
    .string()
    .regex(/^(?:(?:[01]\d|2[0-3]):[0-5]\d|24:00)$/, "use a time such as 17:30, or 24:00")
    .meta({ description: "When it ends, on the same day; 24:00 for midnight.", example: "17:30" }),
});

const daySchema = z
  .array(intervalSchema)
  .max(MAX_INTERVALS)
  .overwrite((intervals) => intervals.toSorted((one, other) => minuteOf(one.from) - minuteOf(other.from)))
  .superRefine((intervals, ctx) => {
    addProblem(ctx, intervalProblem(intervals));
  })
  .meta({ description: "The intervals of the day, in order; empty or left out if it is closed." });

const weekSchema = z
  .strictObject({
    monday: daySchema,
    tuesday: daySchema,
    wednesday: daySchema,
    thursday: daySchema,
    friday: daySchema,
    saturday: daySchema,
    sunday: daySchema,
  } satisfies Record<(typeof WEEKDAYS)[number], unknown>)
  .partial()
  .refine(
    (week) => Object.values(week).some((intervals) => intervals !== undefined && intervals.length > 0),
    valueErrorParams("give one interval at least, or null"),
  );

const hasKnownVariables = (text: string) => (text.match(/\{\{[^{}]*\}\}/g) ?? []).every((variable) => variable === OPENS_AT);

const fields = {
  time_zone: z
    .string()
    .max(MAX_ZONE_LENGTH)
    .refine(isTimeZone, valueErrorParams("use the name of a time zone, such as Europe/Vienna"))
    .meta({ description: "The time zone of the hours, by its name in the IANA database.", example: "Europe/Vienna" }),
  hours: weekSchema.nullable().meta({
    description:
      "The hours of each weekday, as intervals that do not overlap; a day that is left out is closed. null if the team is always there.",
    example: { monday: [{ from: "09:00", to: "17:30" }] },
  }),
  holidays: z
    .array(z.iso.date().meta({ description: "A day.", example: "2026-12-25" }))
    .max(MAX_HOLIDAYS)
    .overwrite((days) => [...new Set(days)].toSorted())
    .meta({ description: "Days on which the team is not there at all.", example: ["2026-12-25"] }),
  closed_message: filledText(MAX_MESSAGE_LENGTH)
    .refine(hasKnownVariables, valueErrorParams(`${OPENS_AT} is the only variable`))
    .nullable()
    .meta({
      description: `What visitors read instead of the hand-off message outside the hours. ${OPENS_AT} is the time of the next opening. null for the usual text in the visitor's language.`,
      example: `We are back on ${OPENS_AT}.`,
    }),
  ask_contact_details: z.boolean().meta({
    description: "Whether visitors whose contact details are not known are asked for them outside the hours.",
    example: true,
  }),
};

/** Whether the team is there now, as records show it. */
export const openingFields = {
  team_open: z.boolean().meta({ description: "Whether the team is there now, by the business hours.", example: true }),
  opens_at: timestamp().nullable().meta({ description: "When the team opens next; null while it is there.", example: null }),
};

export const businessHoursSchema = z.object({ ...fields, ...openingFields }).openapi("BusinessHours");

export const businessHoursUpdateSchema = z
  .object(fields)
  .partial()
  .openapi("BusinessHoursUpdate", {
    description: "Fields that are left out stay unchanged.",
    example: { time_zone: "Europe/Vienna", hours: { monday: [{ from: "09:00", to: "17:30" }] }, holidays: ["2026-12-25"] },
  });

/** Returns the values of `openingFields` at a time. */
export function toOpening(hours: BusinessHours, nowMs: number) {
  const { isOpen, opensAtMs } = openingAt(hours, nowMs);
  return { team_open: isOpen, opens_at: toTimestampOrNull(opensAtMs) };
}
