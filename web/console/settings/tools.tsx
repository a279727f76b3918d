import type { AgentSettings } from "./agent-page.tsx";

/** The requests to the workspace's own systems that the agent may make. They are set by the API. */
export function Tools({ agent: { tools } }: { agent: AgentSettings }) {
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
              <code>{tool.name}</code>{" "}
              <span class="quiet">
                {tool.type === "http" ? tool.description : `${tool.url}: ${tool.tools.map(({ name }) => name).join(", ")}`}
              </span>
              {tool.type === "mcp" && tool.problem && <p class="field-error">{tool.problem}</p>}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
