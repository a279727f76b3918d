import { useState } from "preact/hooks";
import { api, InputError, type Schemas } from "../api.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { TextArea, TextField } from "../ui/field.tsx";
import { useForm } from "../ui/form.ts";
import { formatNumber } from "../ui/format.tsx";
import type { AgentSettings } from "./agent-page.tsx";

/** The tools of an agent: requests to the workspace's own systems. They are configured through the API. */
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

/** The names by which a model calls a tool, or the enabled tools of a server. */
function namesOf(tool: AgentSettings["tools"][number]): string[] {
  if (tool.type === "http") return [tool.name];
  return tool.problem === null ? tool.tools.map(({ name }) => `${tool.name}_${name}`) : [];
}

const OUTCOME_WORDS: Record<Schemas["ToolTest"]["outcome"], string> = {
  answered: "Answered",
  refused: "Not called",
  failed: "Failed",
};

/** Calls a tool of an agent, and shows the result as the model would read it. */
function ToolTest({ agentId, name, onClose }: { agentId: string; name: string; onClose: () => void }) {
  const [result, setResult] = useState<Schemas["ToolTest"]>();
  const form = useForm(async ({ text }) => {
    setResult(undefined);
    const visitor = { external_id: text("external_id") || null, email: text("email") || null };
    const body = { arguments: parseArguments(text("arguments")), visitor };
    setResult(await api.testTool({ agent_id: agentId, tool_name: name, body }));
  });
  return (
    <Dialog title={`Test ${name}`} onClose={onClose}>
      <form class="stack" onSubmit={form.onSubmit}>
        <p class="quiet">This calls your system for real, with all the effects of the call.</p>
        <TextArea
          label="Arguments"
          name="arguments"
          rows={4}
          required
          defaultValue="{}"
          hint='As JSON, such as {"order": "4711"}.'
          error={form.error}
        />
        <TextField label="Visitor’s id" name="external_id" maxLength={128} hint="Your own id of the person, as the tool receives it." />
        <TextField label="Visitor’s email" name="email" type="email" />
        <Button variant="primary" type="submit" isBusy={form.isBusy}>
          Call
        </Button>
        {result && (
          <div role="status">
            <p>
              <strong>{OUTCOME_WORDS[result.outcome]}</strong>{" "}
              <span class="quiet">
                {result.status !== null && `Status ${result.status}, `}
                {formatNumber(result.duration_ms)} ms
              </span>
            </p>
            <pre>{result.text}</pre>
          </div>
        )}
      </form>
    </Dialog>
  );
}

function parseArguments(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    throw new InputError("This is not JSON.");
  }
}
