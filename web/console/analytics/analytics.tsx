import { useState } from "preact/hooks";
import { Link } from "wouter-preact";
import { csvLine } from "../../../src/platform/csv.ts";
import { api, type Schemas } from "../api.ts";
import { AgentPicker } from "../agents.tsx";
import { CHANNEL_WORDS, HANDOFF_WORDS } from "../inbox/words.tsx";
import { useQuery } from "../query.ts";
import { hasScope } from "../session.ts";
import { Button } from "../ui/button.tsx";
import { Select } from "../ui/field.tsx";
import { PageFrame, saveFile } from "../ui/page.tsx";
import { Empty, Loaded } from "../ui/states.tsx";
import { countOf, Figure, formatNumber, formatPercent } from "../ui/format.tsx";
import { DailyChart } from "./daily-chart.tsx";

type Overview = Schemas["AnalyticsOverview"];

const RANGES = [
  ["7", "7 days"],
  ["30", "30 days"],
  ["90", "90 days"],
  ["365", "1 year"],
] as const;

/** Figures of a period: how much is asked, who answers it, and which questions the agent could not answer. */
export function Analytics() {
  const [days, setDays] = useState<(typeof RANGES)[number][0]>("30");
  const [agentId, setAgentId] = useState("");
  const query = useQuery(`${days} ${agentId}`, (signal) =>
    api.getAnalyticsOverview({ days: Number(days), ...(agentId && { agent_id: agentId }) }, { signal }),
  );
  return (
    <PageFrame
      title="Analytics"
      actions={
        <div class="actions">
          <AgentPicker label="Agent" all="All agents" value={agentId} onChange={setAgentId} />
          <Select label="Range" hideLabel options={RANGES} value={days} onChoose={setDays} />
          <Button disabled={!query.data} onClick={() => query.data && saveFile("analytics.csv", dailyCsv(query.data))}>
            Export CSV
          </Button>
        </div>
      }
    >
      <Loaded query={query}>{(overview) => <Report overview={overview} />}</Loaded>
    </PageFrame>
  );
}

function Report({ overview }: { overview: Overview }) {
  const { totals, rates, previous, csat, times, handoff_reasons: reasons, top_unanswered: unanswered } = overview;
  if (totals.conversations === 0 && totals.messages === 0)
    return <Empty title="Nothing happened in this period">Figures appear with the first conversation.</Empty>;
  return (
    <>
      <div class="cards">
        <Figure
          name="Conversations"
          value={formatNumber(totals.conversations)}
          note={changeOf(totals.conversations, previous.totals.conversations)}
        />
        <Figure
          name="Resolved by the agent"
          value={formatPercent(rates.ai_resolution)}
          note={pointsOf(rates.ai_resolution, previous.rates.ai_resolution)}
        />
        <Figure name="Handed to the team" value={formatPercent(rates.handoff)} note={pointsOf(rates.handoff, previous.rates.handoff)} />
        <Figure
          name="Not answered by the agent"
          value={formatPercent(rates.unanswered)}
          note={pointsOf(rates.unanswered, previous.rates.unanswered)}
        />
        <Figure
          name="Satisfaction"
          value={csat.average === null ? "–" : `${csat.average.toFixed(1)} of 5`}
          note={countOf(csat.count, "rating")}
        />
        <Figure
          name="First reply to a visitor"
          value={duration(times.median_first_response_seconds)}
          note="median, by the agent or the team"
        />
        <Figure name="First reply by the team" value={duration(times.median_team_reply_seconds)} note="median, after a hand-off" />
        <Figure name="Time to a resolution" value={duration(times.median_resolution_seconds)} note="median, from the first message" />
        <Figure name="Leads" value={formatNumber(totals.leads)} note={changeOf(totals.leads, previous.totals.leads)} />
      </div>
      <DailyChart daily={overview.daily} />
      <div class="columns">
        <Bars
          title="Why conversations were handed over"
          rows={Object.entries(reasons).map(([id, count]) => [HANDOFF_WORDS[id as keyof typeof reasons], count])}
        />
        <Bars
          title="Where they came from"
          rows={Object.entries(overview.by_channel)
            // Conversations of the playground counted before migration 0002.
            .filter(([id, count]) => id !== "playground" || count > 0)
            .map(([id, count]) => [CHANNEL_WORDS[id as keyof typeof CHANNEL_WORDS], count])}
        />
      </div>
      <section class="card">
        <h2>What the agent could not answer</h2>
        {unanswered.length === 0 ? (
          <p class="quiet">Nothing in this period.</p>
        ) : (
          <table>
            <thead>
              <tr>
                <th scope="col">Question</th>
                <th scope="col" class="number">
                  Asked
                </th>
              </tr>
            </thead>
            <tbody>
              {unanswered.map(({ question, count }) => (
                <tr key={question}>
                  <td>{question}</td>
                  <td class="number">{formatNumber(count)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
        {unanswered.length > 0 && hasScope("knowledge:read") && (
          <p>
            <Link href="~/knowledge/gaps">Read the conversations in which they were asked</Link>
          </p>
        )}
      </section>
    </>
  );
}

/** A table with a bar for each number. */
function Bars({ title, rows }: { title: string; rows: [string, number][] }) {
  const most = Math.max(1, ...rows.map(([, count]) => count));
  return (
    <section class="card">
      <h2>{title}</h2>
      <table class="bars">
        <tbody>
          {rows
            .toSorted(([, a], [, b]) => b - a)
            .map(([name, count]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>
                  <meter min={0} max={most} value={count} aria-hidden="true" />
                </td>
                <td class="number">{formatNumber(count)}</td>
              </tr>
            ))}
        </tbody>
      </table>
    </section>
  );
}

const BEFORE = "than in the previous period";

function changeOf(now: number, before: number): string {
  if (before === 0) return "none in the previous period";
  const change = (now - before) / before;
  return `${change >= 0 ? "+" : "−"}${formatPercent(Math.abs(change))} ${BEFORE}`;
}

function pointsOf(now: number | null, before: number | null): string | undefined {
  if (now === null || before === null) return undefined;
  const points = Math.round((now - before) * 100);
  return `${points >= 0 ? "+" : "−"}${Math.abs(points)} points ${BEFORE}`;
}

function duration(seconds: number | null): string {
  if (seconds === null) return "–";
  if (seconds > 0 && seconds < 1) return "< 1 s";
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  return seconds < 36 * 3600 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} days`;
}

function dailyCsv({ daily }: Overview): Blob {
  const names = ["date", "conversations", "messages", "ai_replies", "human_replies", "leads", "handoffs"] as const;
  const lines = [names, ...daily.map((day) => names.map((name) => day[name]))].map(csvLine);
  return new Blob(lines, { type: "text/csv;charset=utf-8" });
}
