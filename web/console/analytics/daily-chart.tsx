import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import type { Schemas } from "../api.ts";
import { Button } from "../ui/button.tsx";
import { formatNumber } from "../ui/time.tsx";

type Day = Schemas["AnalyticsDay"];

const HEIGHT_PX = 240;

/** The days of a range as lines, or as a table. */
export function DailyChart({ daily }: { daily: readonly Day[] }) {
  const [isTable, setTable] = useState(false);
  return (
    <section class="card" aria-label="Each day">
      <div class="card-top">
        <h2>Each day</h2>
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
    <div class="table-scroll" tabIndex={0} role="region" aria-label="Each day">
      <table>
        <thead>
          <tr>
            {["Day", "Conversations", "Agent's replies", "Team's replies", "Hand-offs", "Leads"].map((name, at) => (
              <th key={name} scope="col" class={at > 0 ? "number" : ""}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {daily.toReversed().map((day) => (
            <tr key={day.date}>
              <th scope="row">{day.date}</th>
              {[day.conversations, day.ai_replies, day.human_replies, day.handoffs, day.leads].map((value, at) => (
                <td key={at} class="number">
                  {formatNumber(value)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Chart({ daily }: { daily: readonly Day[] }) {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const parent = element.current!;
    const axis = { stroke: colourOf(parent, "--text-quiet"), grid: { stroke: colourOf(parent, "--line"), width: 1 } };
    const line = (label: string, name: string) => ({ label, stroke: colourOf(parent, name), width: 2, points: { show: false } });
    const plot = new uPlot(
      {
        width: parent.clientWidth,
        height: HEIGHT_PX,
        tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "UTC"),
        axes: [{ ...axis, values: (_, times) => times.map(dayOf) }, axis],
        series: [
          { value: (_, seconds) => (seconds === null ? "" : dayOf(seconds)) },
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
  }, [daily]);
  return (
    <div ref={element} class="chart" role="img" aria-label="Conversations and hand-offs of each day; the table has the same figures" />
  );
}

/** A colour of the style sheet as a canvas takes it, for the scheme that is shown. */
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
