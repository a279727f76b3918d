import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import type { Schemas } from "../api.ts";
import { theme } from "../theme.ts";
import { Button } from "../ui/button.tsx";
import { formatNumber } from "../ui/format.tsx";
import { Table } from "../ui/table.tsx";

type Day = Schemas["AnalyticsDay"];

const HEIGHT_PX = 240;

/** The figures of each day, as a chart or as a table. */
export function DailyChart({ daily }: { daily: readonly Day[] }) {
  const [isTable, setTable] = useState(false);
  return (
    <section class="card" aria-label="Daily figures">
      <div class="card-top">
        <h2>Daily figures</h2>
        <Button variant="quiet" onClick={() => setTable(!isTable)}>
          {isTable ? "Show the chart" : "Show the table"}
        </Button>
      </div>
      {isTable ? <Days daily={daily} /> : <Chart daily={daily} />}
    </section>
  );
}

function Days({ daily }: { daily: readonly Day[] }) {
  return (
    <Table
      label="Daily figures"
      rows={daily.toReversed()}
      columns={[
        ["Day", ({ date }) => date, "heading"],
        ["Conversations", (day) => formatNumber(day.conversations), "number"],
        ["Agent's replies", (day) => formatNumber(day.ai_replies), "number"],
        ["Team's replies", (day) => formatNumber(day.human_replies), "number"],
        ["Hand-offs", (day) => formatNumber(day.handoffs), "number"],
        ["Leads", (day) => formatNumber(day.leads), "number"],
      ]}
    />
  );
}

function Chart({ daily }: { daily: readonly Day[] }) {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const parent = element.current!;
    const axis = { stroke: colourOf(parent, "--text-quiet"), grid: { stroke: colourOf(parent, "--line"), width: 1 } };
    const line = (label: string, name: string) => ({
      label,
      stroke: colourOf(parent, name),
      width: 2,
      points: { show: false },
      // The legend has a value only while the pointer is on a day.
      value: (_: uPlot, value: number | null) => (value === null ? "" : formatNumber(value)),
    });
    const plot = new uPlot(
      {
        width: parent.clientWidth,
        height: HEIGHT_PX,
        tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "UTC"),
        axes: [{ ...axis, values: (_, times) => times.map(dayOf) }, axis],
        series: [
          { label: "Day", value: (_, seconds) => (seconds === null ? "" : dayOf(seconds)) },
          line("Conversations", "--accent"),
          line("Handed over", "--danger"),
        ],
      },
      [
        daily.map(({ date }) => Date.parse(date) / 1000),
        daily.map(({ conversations }) => conversations),
        daily.map(({ handoffs }) => handoffs),
      ],
      parent,
    );
    const observer = new ResizeObserver(() => plot.setSize({ width: parent.clientWidth, height: HEIGHT_PX }));
    observer.observe(parent);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [daily, theme.value]);
  return (
    <div
      ref={element}
      class="chart"
      role="img"
      aria-label="A chart of conversations and hand-offs by day; the table has the same figures"
    />
  );
}

/** Resolves a colour of the style sheet for a canvas, in the current colour scheme. */
function colourOf(element: HTMLElement, name: string): string {
  const probe = element.appendChild(document.createElement("i"));
  probe.style.color = `var(${name})`;
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

function dayOf(seconds: number): string {
  return new Intl.DateTimeFormat(navigator.language, { day: "numeric", month: "short", timeZone: "UTC" }).format(seconds * 1000);
}
