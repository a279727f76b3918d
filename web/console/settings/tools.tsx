import { useState } from "preact/hooks";
import { Button } from "../ui/button.tsx";
import type { AgentSettings } from "./agent-page.tsx";
import { ToolTest } from "./tool-test.tsx";

/** The requests to the workspace's own systems that the agent may make. They are set by the API. */
export function Tools({ agent: { id, tools } }: { agent: AgentSettings }) {
  const [testing, setTesting] = useState<string>();
  return (
    <section class="card">
      <h2>Tools</h2>
      {tools.length === 0 ? (
        <p class="quiet">
          None. With a model, an agent can look up orders or book appointments in your systems: see the guide “Tools and models”.
        </p>
      ) : (
        <ul class="stack">
          {tools.map((tool) => (
            <li key={tool.name}>
              <code>{tool.name}</code> <span class="quiet">{tool.type === "http" ? tool.description : tool.url}</span>
              {tool.type === "mcp" && tool.problem && <p class="field-error">{tool.problem}</p>}
              <div class="actions">
                {namesOf(tool).map((name) => (
                  <Button key={name} variant="quiet" onClick={() => setTesting(name)}>
                    Test {name}
                  </Button>
                ))}
              </div>
            </li>
          ))}
        </ul>
      )}
      {testing !== undefined && <ToolTest agentId={id} name={testing} onClose={() => setTesting(undefined)} />}
    </section>
  );
}

/** The names by which models call a tool, or the tools of a server that are on. */
function namesOf(tool: AgentSettings["tools"][number]): string[] {
  if (tool.type === "http") return [tool.name];
  return tool.problem === null ? tool.tools.map(({ name }) => `${tool.name}_${name}`) : [];
}
