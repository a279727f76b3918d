import { useState } from "preact/hooks";
import { openingAt } from "../../../src/workspaces/business-hours.ts";
import { api, type Schemas } from "../api.ts";
import { type Query, useQuery } from "../query.ts";
import { hasScope } from "../session.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Checkbox, FieldError, TextArea, TextField } from "../ui/field.tsx";
import type { ErrorAt } from "../ui/form.ts";
import { labelOf } from "../ui/format.tsx";
import { Loaded } from "../ui/states.tsx";
import { showMessage } from "../ui/toast.tsx";
import { SettingsForm } from "./settings-form.tsx";

type BusinessHours = Schemas["BusinessHours"];
type Week = NonNullable<BusinessHours["hours"]>;
type Day = keyof Week;
type Interval = NonNullable<Week[Day]>[number];

const DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] as const satisfies Day[];
const MAX_INTERVALS = 6;
const OFFICE: Interval = { from: "09:00", to: "17:00" };
const OFFICE_WEEK: Week = Object.fromEntries(DAYS.slice(0, 5).map((day) => [day, [OFFICE]]));

/** The hours of the team. Outside of them, a hand-off tells the visitor when the team opens. */
export function BusinessHoursPage() {
  const query = useQuery("business-hours", (signal) => api.getBusinessHours({}, { signal }));
  return <Loaded query={query}>{(hours) => <HoursForm hours={hours} query={query} />}</Loaded>;
}

function HoursForm({ hours: saved, query }: { hours: BusinessHours; query: Query<BusinessHours> }) {
  const [zone, setZone] = useState(saved.hours === null ? Intl.DateTimeFormat().resolvedOptions().timeZone : saved.time_zone);
  const [week, setWeek] = useState(saved.hours);
  const [holidays, setHolidays] = useState(saved.holidays.join("\n"));
  const mayWrite = hasScope("conversations:write");
  const days = holidays.split(/\s+/).filter(Boolean);
  const save = async (text: (name: string) => string) => {
    const body = {
      time_zone: zone.trim(),
      hours: week,
      holidays: days,
      closed_message: text("closed_message") || null,
      ask_contact_details: text("ask_contact_details") === "on",
    };
    query.set(await api.updateBusinessHours({ body }));
    showMessage("Saved");
  };
  return (
    <SettingsForm title="Business hours" onSave={save} isReadOnly={!mayWrite}>
      {(errorAt) => (
        <>
          <p class="quiet">Agents answer at all hours. Outside these hours, a hand-off tells the visitor when your team opens.</p>
          <p role="status">
            <strong>{openingWords({ ...saved, time_zone: zone.trim(), hours: week, holidays: days })}</strong>
          </p>
          <Checkbox
            label="The team is always there"
            checked={week === null}
            onChange={({ currentTarget }) => setWeek(currentTarget.checked ? null : (saved.hours ?? OFFICE_WEEK))}
          />
          {week !== null && (
            <>
              <TimeZone value={zone} error={errorAt("time_zone")} onChange={setZone} />
              <WeekGrid week={week} errorAt={errorAt} onChange={setWeek} />
              <FieldError text={errorAt("hours")} />
              <TextArea
                label="Holidays"
                rows={3}
                spellcheck={false}
                value={holidays}
                error={errorAt("holidays")}
                hint="Days on which nobody is there, one per line, such as 2026-12-25."
                onInput={({ currentTarget }) => setHolidays(currentTarget.value)}
              />
            </>
          )}
          <TextArea
            label="Message outside the hours"
            name="closed_message"
            rows={3}
            maxLength={2_000}
            defaultValue={saved.closed_message ?? ""}
            error={errorAt("closed_message")}
            hint={
              <>
                Visitors read it instead of the hand-off message. <code>{"{{opens_at}}"}</code> is the time of the next opening. Without a
                message, they read the usual one in their language.
              </>
            }
          />
          <Checkbox
            label="Ask for contact details if none are known"
            name="ask_contact_details"
            defaultChecked={saved.ask_contact_details}
          />
        </>
      )}
    </SettingsForm>
  );
}

function TimeZone({ value, error, onChange }: { value: string; error: string | undefined; onChange: (zone: string) => void }) {
  return (
    <>
      <TextField
        label="Time zone"
        list="time-zones"
        required
        spellcheck={false}
        value={value}
        error={error}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
      <datalist id="time-zones">
        {Intl.supportedValuesOf("timeZone").map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
    </>
  );
}

function WeekGrid({ week, errorAt, onChange }: { week: Week; errorAt: ErrorAt; onChange: (week: Week) => void }) {
  return (
    <div class="week">
      {DAYS.map((day) => (
        <div key={day} role="group" aria-label={labelOf(day)}>
          <strong>{labelOf(day)}</strong>
          <div class="intervals">
            <DayIntervals
              day={labelOf(day)}
              intervals={week[day] ?? []}
              onChange={(intervals) => onChange({ ...week, [day]: intervals })}
            />
            <FieldError text={errorAt(`hours.${day}`)} />
          </div>
        </div>
      ))}
    </div>
  );
}

function DayIntervals({ day, intervals, onChange }: { day: string; intervals: Interval[]; onChange: (intervals: Interval[]) => void }) {
  const change = (at: number, part: Partial<Interval>) =>
    onChange(intervals.map((interval, index) => (index === at ? { ...interval, ...part } : interval)));
  return (
    <>
      {intervals.map(({ from, to }, at) => (
        <div key={at} class="interval">
          <input
            type="time"
            required
            aria-label={`${day}, from`}
            value={from}
            onInput={({ currentTarget }) => change(at, { from: currentTarget.value })}
          />
          <span aria-hidden="true">–</span>
          <input
            type="time"
            required
            aria-label={`${day}, to`}
            // A field for a time has no 24:00.
            value={to === "24:00" ? "00:00" : to}
            onInput={({ currentTarget: { value } }) => change(at, { to: value === "00:00" ? "24:00" : value })}
          />
          <IconButton
            icon="close"
            label={`Remove ${day}, ${from} to ${to}`}
            onClick={() => onChange(intervals.filter((_, index) => index !== at))}
          />
        </div>
      ))}
      {intervals.length === 0 && <span class="quiet">Closed </span>}
      {intervals.length < MAX_INTERVALS && (
        <Button variant="quiet" onClick={() => onChange([...intervals, nextInterval(intervals)])} aria-label={`Add hours on ${day}`}>
          Add hours
        </Button>
      )}
    </>
  );
}

/** Returns hours after those of a day, for the user to change. */
function nextInterval(intervals: readonly Interval[]): Interval {
  const last = intervals.at(-1)?.to;
  return last === undefined ? OFFICE : { from: last === "24:00" ? "00:00" : last, to: "24:00" };
}

/** Says whether the team is there now, by hours that may not be saved yet. */
function openingWords(hours: BusinessHours): string {
  try {
    const { isOpen, opensAtMs } = openingAt({ ...hours, hours: sorted(hours.hours) }, Date.now());
    if (isOpen) return "Open now";
    if (opensAtMs === null) return "Closed";
    const format = new Intl.DateTimeFormat("en", { timeZone: hours.time_zone, dateStyle: "full", timeStyle: "short" });
    return `Closed now. Opens ${format.format(opensAtMs)}`;
  } catch {
    // The name of the time zone is not complete yet.
    return "Closed";
  }
}

function sorted(week: Week | null): Record<string, Interval[]> | null {
  const compare = (one: Interval, other: Interval) => one.from.localeCompare(other.from);
  return week && Object.fromEntries(DAYS.map((day) => [day, (week[day] ?? []).toSorted(compare)]));
}
