import { expect, test } from "vitest";
import type { BusinessHours } from "../../src/platform/db/columns.ts";
import { businessHoursOf, openingAt, openingText, openMsBetween } from "../../src/workspaces/business-hours.ts";
import { createWorkspace } from "../harness.ts";

const ALL_DAY = [{ from: "00:00", to: "24:00" }];
const OFFICE = [{ from: "09:00", to: "17:30" }];
const WEEK: BusinessHours["hours"] = {
  monday: OFFICE,
  tuesday: [
    { from: "09:00", to: "12:00" },
    { from: "13:00", to: "24:00" },
  ],
  wednesday: ALL_DAY,
};

/** Each time is UTC; `opens` is undefined while the team is there. */
const MOMENTS: [name: string, hours: Partial<BusinessHours>, at: string, opens: string | undefined][] = [
  ["without hours it is always there", { hours: null }, "2026-11-28T03:00Z", undefined],
  ["before the first interval", { hours: WEEK }, "2026-11-30T07:59Z", "2026-11-30T08:00Z"],
  ["at the start of an interval", { hours: WEEK }, "2026-11-30T08:00Z", undefined],
  ["at the end of an interval", { hours: WEEK }, "2026-11-30T16:30Z", "2026-12-01T08:00Z"],
  ["between two intervals", { hours: WEEK }, "2026-12-01T11:30Z", "2026-12-01T12:00Z"],
  ["at 24:00, when the next day begins", { hours: WEEK }, "2026-12-01T23:00Z", undefined],
  ["after the last day of the week", { hours: WEEK }, "2026-12-02T23:00Z", "2026-12-07T08:00Z"],
  ["on a holiday", { hours: WEEK, holidays: ["2026-11-30"] }, "2026-11-30T10:00Z", "2026-12-01T08:00Z"],
  [
    "before two weeks of holidays",
    { hours: { monday: OFFICE }, holidays: ["2026-12-07", "2026-12-14"] },
    "2026-12-01T10:00Z",
    "2026-12-21T08:00Z",
  ],
  ["when summer time begins between closing and opening", { hours: { sunday: OFFICE } }, "2026-03-28T20:00Z", "2026-03-29T07:00Z"],
  ["when summer time ends between closing and opening", { hours: { sunday: OFFICE } }, "2026-10-24T20:00Z", "2026-10-25T08:00Z"],
  ["at a time that the clocks skip", { hours: { sunday: [{ from: "02:30", to: "05:00" }] } }, "2026-03-29T00:50Z", "2026-03-29T01:30Z"],
  [
    "at a time that comes twice, for the first time",
    { hours: { sunday: [{ from: "02:30", to: "05:00" }] } },
    "2026-10-25T00:10Z",
    "2026-10-25T00:30Z",
  ],
  ["after the time that comes twice", { hours: { sunday: [{ from: "03:30", to: "05:00" }] } }, "2026-10-25T01:50Z", "2026-10-25T02:30Z"],
  ["where it is already tomorrow", { hours: WEEK, time_zone: "Pacific/Kiritimati" }, "2026-11-29T18:59Z", "2026-11-29T19:00Z"],
  ["where the offset has half an hour", { hours: WEEK, time_zone: "Asia/Kolkata" }, "2026-11-30T03:29Z", "2026-11-30T03:30Z"],
  ["before 1970", { hours: WEEK }, "1965-03-01T06:00Z", "1965-03-01T08:00Z"],
];

test.each(MOMENTS)("%s: it is known whether the team is there, and when it opens", (_, given, at, opens) => {
  const hours = businessHoursOf({ time_zone: "Europe/Vienna", ...given });
  const opensAtMs = opens === undefined ? null : Date.parse(opens);
  expect(openingAt(hours, Date.parse(at))).toEqual({ isOpen: opens === undefined, opensAtMs });
});

test.each([
  ["on one day", "2026-11-30T07:00Z", "2026-11-30T09:00Z", 60],
  ["over a night", "2026-11-30T16:00Z", "2026-12-01T08:15Z", 45],
  ["over a lunch break", "2026-12-01T10:50Z", "2026-12-01T12:20Z", 30],
  ["over a weekend without hours", "2026-12-03T10:00Z", "2026-12-07T08:10Z", 10],
  ["while it is away", "2026-12-05T10:00Z", "2026-12-05T12:00Z", 0],
])("the time in which the team is there is counted %s", (_, start, end, minutes) => {
  const hours = businessHoursOf({ time_zone: "Europe/Vienna", hours: WEEK });
  expect(openMsBetween(hours, Date.parse(start), Date.parse(end))).toBe(minutes * 60_000);
});

test("in a whole year of zones whose clocks change, each opening is later, and the team is then there", () => {
  for (const zone of ["Europe/Vienna", "America/New_York", "Australia/Lord_Howe"]) {
    const hours = businessHoursOf({
      time_zone: zone,
      hours: {
        ...WEEK,
        sunday: [
          { from: "00:00", to: "02:30" },
          { from: "03:00", to: "23:59" },
        ],
      },
    });
    for (let nowMs = Date.UTC(2026, 0, 1); nowMs < Date.UTC(2027, 0, 1); nowMs += 31.3 * 3_600_000) {
      const { isOpen, opensAtMs } = openingAt(hours, nowMs);
      if (isOpen) continue;
      expect(opensAtMs! > nowMs, zone).toBe(true);
      expect([openingAt(hours, opensAtMs!).isOpen, openingAt(hours, opensAtMs! - 1).isOpen], zone).toEqual([true, false]);
    }
  }
});

test("an opening is written in a language and the time zone of the workspace, with its date from six days on", () => {
  const hours = businessHoursOf({ time_zone: "Europe/Vienna" });
  const opensAtMs = Date.parse("2026-11-30T08:00Z");
  const text = (language: string, days: number) => openingText(hours, language, opensAtMs, opensAtMs - days * 86_400_000);
  expect(text("de", 2)).toMatch(/^Montag.*09:00/);
  expect(text("en", 2)).toMatch(/^Monday.*9:00/);
  expect(text("en", 7)).toMatch(/Monday, November 30.*9:00/);
  for (const language of ["fr", "no", "ar", "hi", "zh", "ja"]) expect(text(language, 2), language).not.toBe(text("en", 2));
});

test("the hours are kept field by field, sorted, and always open by default", async () => {
  const workspace = await createWorkspace();
  const path = "/business-hours";
  const unset = { time_zone: "UTC", hours: null, holidays: [], closed_message: null, ask_contact_details: false };
  expect((await workspace.call("GET", path)).body).toEqual({ ...unset, team_open: true, opens_at: null });
  const monday = [
    { from: "13:00", to: "24:00" },
    { from: "09:00", to: "12:00" },
  ];
  const hours = { time_zone: "Europe/Vienna", hours: { monday }, holidays: ["2026-12-26", "2026-12-25", "2026-12-26"] };
  const changed = await workspace.call("PATCH", path, hours);
  const sorted = { time_zone: "Europe/Vienna", hours: { monday: monday.toReversed() }, holidays: ["2026-12-25", "2026-12-26"] };
  expect([changed.status, changed.body]).toMatchObject([200, sorted]);
  await workspace.call("PATCH", path, { closed_message: "Back on {{opens_at}}.", ask_contact_details: true });
  expect((await workspace.call("PATCH", path, {})).body).toMatchObject({
    ...sorted,
    closed_message: "Back on {{opens_at}}.",
    ask_contact_details: true,
  });
  const always = await workspace.call("PATCH", path, { hours: null });
  expect(always.body).toMatchObject({ hours: null, time_zone: "Europe/Vienna", team_open: true, opens_at: null });
});

const REFUSED: [field: string, body: Record<string, unknown>][] = [
  ["time_zone", { time_zone: "Mars/Olympus" }],
  ["time_zone", { time_zone: "+02:00" }],
  ["time_zone", { time_zone: null }],
  ["hours", { hours: {} }],
  ["hours", { hours: { monday: [] } }],
  ["hours.monday", { hours: { monday: [{ from: "22:00", to: "06:00" }] } }],
  [
    "hours.monday",
    {
      hours: {
        monday: [
          { from: "09:00", to: "12:00" },
          { from: "11:00", to: "13:00" },
        ],
      },
    },
  ],
  ["hours.monday.0.from", { hours: { monday: [{ from: "9:00", to: "12:00" }] } }],
  ["hours.monday.0.to", { hours: { monday: [{ from: "09:00", to: "24:01" }] } }],
  ["hours.monday", { hours: { monday: Array.from({ length: 7 }, (_, at) => ({ from: `0${at}:00`, to: `0${at}:30` })) } }],
  ["hours", { hours: { someday: ALL_DAY } }],
  ["holidays.0", { holidays: ["2026-02-30"] }],
  ["holidays.0", { holidays: ["25.12.2026"] }],
  ["holidays", { holidays: Array.from({ length: 101 }, (_, at) => `${2000 + at}-12-25`) }],
  ["closed_message", { closed_message: " " }],
  ["closed_message", { closed_message: "x".repeat(2_001) }],
  ["closed_message", { closed_message: "Hello {{visitor.name}}" }],
];

test("what cannot be hours is refused with its field", async () => {
  const workspace = await createWorkspace();
  const found = await Promise.all(
    REFUSED.map(async ([, body]) => {
      const { status, body: problem } = await workspace.call("PATCH", "/business-hours", body);
      return [status, problem.detail.map(({ loc }: { loc: string[] }) => loc.slice(1).join("."))];
    }),
  );
  expect(found).toEqual(REFUSED.map(([field]) => [422, [field]]));
});
