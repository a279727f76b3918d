import { Link, Route, Switch, useLocation } from "wouter-preact";
import { hasScope } from "../session.ts";
import { PageFrame } from "../ui/page.tsx";
import { AgentList } from "./agent-list.tsx";
import { AgentPage } from "./agent-page.tsx";
import { OwnKeys } from "./own-keys.tsx";
import { UsagePage } from "./usage.tsx";

/** Agents, keys, and how much of the plan is used. */
export function Settings() {
  const [path] = useLocation();
  const tabs = [
    ["/", "Agents"],
    ...(hasScope("keys:write") ? [["/keys", "API keys"]] : []),
    ...(hasScope("analytics:read") ? [["/usage", "Usage"]] : []),
  ] as [string, string][];
  return (
    <PageFrame title="Settings">
      <nav class="tabs" aria-label="Settings">
        {tabs.map(([href, title]) => (
          <Link key={href} href={href} aria-current={path === href ? "page" : undefined}>
            {title}
          </Link>
        ))}
      </nav>
      <Switch>
        <Route path="/">
          <AgentList />
        </Route>
        <Route path="/keys">
          <OwnKeys />
        </Route>
        <Route path="/usage">
          <UsagePage />
        </Route>
        <Route path="/agents/:id">{({ id }) => <AgentPage key={id} id={id} />}</Route>
      </Switch>
    </PageFrame>
  );
}
