import { useEffect } from "preact/hooks";
import { Link, Redirect, Route, Switch, useLocation, useRoute } from "wouter-preact";
import { AgentPicker, chooseAgent, useChosenAgent } from "../agents.tsx";
import { hasScope, type Scope } from "../session.ts";
import { lazy } from "../ui/lazy.tsx";
import { PageFrame } from "../ui/page.tsx";
import { Empty, Loaded, NeedsScope } from "../ui/states.tsx";
import { Answers } from "./answers.tsx";
import { runPath } from "./cases.ts";
import { Drafts } from "./drafts.tsx";
import { Evaluations } from "./evaluations.tsx";
import { Gaps } from "./gaps.tsx";
import { SourcePage } from "./source-page.tsx";
import { Sources } from "./sources.tsx";

/** The tabs of the page, with the scope that a tab needs besides that of the page. */
const TABS: readonly (readonly [href: string, title: string, scope?: Scope])[] = [
  ["/", "Sources"],
  ["/answers", "Curated answers"],
  ["/gaps", "Gaps", "analytics:read"],
  ["/drafts", "Drafts"],
  ["/evaluations", "Evaluations"],
];

const EvaluationPage = lazy(async () => (await import("./evaluation-page.tsx")).EvaluationPage);
const Comparison = lazy(async () => (await import("./comparison.tsx")).Comparison);

/** The knowledge of an agent: its sources, its curated answers, and what it lacks. */
export function Knowledge() {
  const { agents, agentId } = useChosenAgent();
  const [path, navigate] = useLocation();
  const tab = path.includes("/evaluations/") ? "/evaluations" : path;
  const [, named] = useRoute("/agents/:agent/*");
  useEffect(() => {
    if (named) chooseAgent(named.agent);
  }, [named?.agent]);
  const choose = (id: string) => {
    chooseAgent(id);
    navigate("/");
  };
  return (
    <PageFrame title="Knowledge" actions={<AgentPicker label="Agent" value={agentId} onChange={choose} />}>
      <Loaded query={agents}>
        {(all) =>
          all.length === 0 ? (
            <NeedsScope scope="agents:read">
              <Empty title="There is no agent yet">An agent has knowledge of its own. Create one in the settings.</Empty>
            </NeedsScope>
          ) : (
            <>
              <nav class="tabs" aria-label="Knowledge">
                {TABS.filter(([, , scope]) => scope === undefined || hasScope(scope)).map(([href, title]) => (
                  <Link key={href} href={href} aria-current={href === tab ? "page" : undefined}>
                    {title}
                  </Link>
                ))}
              </nav>
              <Switch>
                <Route path="/">
                  <Sources key={agentId} agentId={agentId} />
                </Route>
                <Route path="/answers">
                  <Answers key={agentId} agentId={agentId} />
                </Route>
                <Route path="/gaps">
                  <NeedsScope scope="analytics:read">
                    <Gaps key={agentId} agentId={agentId} />
                  </NeedsScope>
                </Route>
                <Route path="/drafts">
                  <Drafts key={agentId} agentId={agentId} />
                </Route>
                <Route path="/evaluations">
                  <Evaluations key={agentId} agentId={agentId} />
                </Route>
                <Route path="/agents/:agent/evaluations/:id">
                  {({ agent, id }) => <EvaluationPage key={id} agentId={agent} id={id} />}
                </Route>
                <Route path="/agents/:agent/evaluations/:id/:earlier">
                  {({ agent, id, earlier }) => <Comparison key={`${id} ${earlier}`} agentId={agent} id={id} earlierId={earlier} />}
                </Route>
                <Route path="/evaluations/:id/:earlier?">
                  {({ id, earlier }) => <Redirect to={runPath({ id, agent_id: agentId }, earlier)} replace />}
                </Route>
                <Route path="/agents/:agent/sources/:id">{({ agent, id }) => <SourcePage agentId={agent} sourceId={id} />}</Route>
                <Route path="/sources/:id">{({ id }) => <Redirect to={`/agents/${agentId}/sources/${id}`} replace />}</Route>
              </Switch>
            </>
          )
        }
      </Loaded>
    </PageFrame>
  );
}
