import { useQuery } from "../query.ts";
import { Button } from "../ui/button.tsx";
import { PageFrame } from "../ui/page.tsx";
import { Loaded } from "../ui/states.tsx";
import { countOf, formatNumber, Time } from "../ui/format.tsx";
import { operator } from "./api.ts";

/** The health of the deployment, with a remedy for each fault. */
export function HealthPage() {
  const query = useQuery("health", () => operator.getHealth());
  return (
    <PageFrame title="Health" actions={<Button onClick={query.reload}>Check again</Button>}>
      <Loaded query={query}>
        {({ status, checked_at: at, databases, queues, work, faults }) => (
          <>
            <p class={status === "ok" ? "banner" : "banner warning"} role="status">
              <span>
                {status === "ok" ? "Everything works." : "Something needs attention, see below."} Checked <Time at={at} />.
              </span>
            </p>
            {faults.map(({ part, error, count, since, remedy }) => (
              <section key={part + error} class="card">
                <h2>
                  {part}: {error}
                </h2>
                <p>
                  {countOf(count, "time")} since <Time at={since} />. {remedy}
                </p>
              </section>
            ))}
            <Checks title="Databases" rows={databases.map(({ binding, ok, duration_ms: ms }) => [binding, ok, `${ms} ms`])} />
            <Checks
              title="Queues"
              rows={queues.map(({ queue, ok, messages }) => [queue, ok, messages === null ? "not reported" : countOf(messages, "message")])}
            />
            <Checks
              title="Pending work"
              rows={work.map(({ kind, ok, waiting }) => [kind.replaceAll("_", " "), ok, formatNumber(waiting)])}
            />
          </>
        )}
      </Loaded>
    </PageFrame>
  );
}

function Checks({ title, rows }: { title: string; rows: [name: string, ok: boolean, text: string][] }) {
  return (
    <section class="card">
      <h2>{title}</h2>
      <table>
        <tbody>
          {rows.map(([name, ok, text]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>
                <span class={ok ? "status ready" : "status failed"}>{ok ? "OK" : "Not OK"}</span>
              </td>
              <td class="number">{text}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
