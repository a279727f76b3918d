import { api } from "../api.ts";
import { useQuery } from "../query.ts";
import { Loaded } from "../ui/states.tsx";
import { Figure, formatNumber, labelOf } from "../ui/format.tsx";

/** The limits of the plan, and the current usage. */
export function UsagePage() {
  const query = useQuery("usage", (signal) => api.getUsage({}, { signal }));
  return (
    <Loaded query={query}>
      {({ plan, period, limits, usage }) => (
        <>
          <p>
            Plan <strong>{plan}</strong>, {day(period.start)} to {day(period.end)}
          </p>
          <div class="cards">
            <Used name="Questions this month" used={usage.messages} limit={limits.messages} />
            <Used name="Visitors’ messages today" used={usage.visitor_messages_today} limit={limits.visitor_messages_per_day} />
            <Used name="Leads today" used={usage.leads_today} limit={limits.leads_per_day} />
            <Used name="Agents" used={usage.agents} limit={limits.agents} />
          </div>
          <section class="card">
            <h2>Limits</h2>
            <table>
              <tbody>
                {Object.entries(limits).map(([name, value]) => (
                  <tr key={name}>
                    <th scope="row">{labelOf(name)}</th>
                    <td class="number">{typeof value === "number" ? formatNumber(value) : value ? "Yes" : "No"}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </section>
        </>
      )}
    </Loaded>
  );
}

function Used({ name, used, limit }: { name: string; used: number; limit: number }) {
  return (
    <Figure name={name} value={formatNumber(used)} note={`of ${formatNumber(limit)}`}>
      <meter min={0} max={Math.max(limit, 1)} high={limit * 0.9} value={used} aria-hidden="true" />
    </Figure>
  );
}

function day(at: string): string {
  return new Intl.DateTimeFormat(navigator.language, { dateStyle: "medium", timeZone: "UTC" }).format(new Date(at));
}
