import { useState } from "preact/hooks";
import { api, InputError, movedError, type Schemas } from "../api.ts";
import { Button } from "../ui/button.tsx";
import { DeleteDialog, Dialog } from "../ui/dialog.tsx";
import { FormEnd, TextArea, TextField } from "../ui/field.tsx";
import { parseObject, useForm } from "../ui/form.ts";
import { countOf, formatNumber } from "../ui/format.tsx";
import { attempt, showMessage } from "../ui/toast.tsx";
import type { AgentSettings } from "./agent-page.tsx";
import { type GivenTool, type Tool, ToolForm } from "./tool-form.tsx";

interface Props {
  agent: AgentSettings;
  onChanged: (agent: AgentSettings) => void;
}

/** What is open: a form for a new tool or a tool, the question before a tool is deleted, or a test call by the name that models use. */
type Open = { action: "add" } | { action: "edit" | "delete"; tool: Tool } | { action: "test"; name: string; parameters: object };

/** The tools of an agent: requests to the workspace's own systems. */
export function Tools({ agent: { id, tools }, onChanged }: Props) {
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const save = async (before: Tool | undefined, tool: GivenTool) => {
    onChanged(await replaceTool(id, before, tool));
    close();
    showMessage("Saved");
  };
  const remove = async (tool: Tool) => {
    await attempt(async () => onChanged(await replaceTool(id, tool, undefined)), "Deleted");
    close();
  };
  const test = (name: string, parameters: object) => setOpen({ action: "test", name, parameters });
  return (
    <section class="card" aria-label="Tools">
      <div class="card-top">
        <h2>Tools</h2>
        <Button onClick={() => setOpen({ action: "add" })}>Add tool</Button>
      </div>
      {tools.length === 0 ? (
        <p class="quiet">None. With a language model, an agent can look up orders or book appointments in your systems.</p>
      ) : (
        <ul class="tools">
          {tools.map((tool) => (
            <li key={tool.name}>
              <div class="card-top">
                <strong class="grow">
                  <code>{tool.name}</code>
                </strong>
                <div class="actions">
                  {tool.type === "http" && (
                    <Button variant="quiet" aria-label={`Test ${tool.name}`} onClick={() => test(tool.name, tool.parameters)}>
                      Test
                    </Button>
                  )}
                  <Button variant="quiet" aria-label={`Edit ${tool.name}`} onClick={() => setOpen({ action: "edit", tool })}>
                    Edit
                  </Button>
                  <Button variant="quiet" aria-label={`Delete ${tool.name}`} onClick={() => setOpen({ action: "delete", tool })}>
                    Delete
                  </Button>
                </div>
              </div>
              {tool.type !== "mcp" && <p>{tool.description}</p>}
              {tool.type === "client" ? (
                <p class="quiet">{tool.runs_in === "server" ? "Runs in your program" : "Runs in the page"}</p>
              ) : (
                <>
                  <code class="quiet">
                    {tool.type === "http" ? tool.method : "MCP"} {tool.url}
                  </code>
                  <p class="quiet">
                    {tool.requires_verified_visitor ? "For verified visitors only" : "For all visitors"}
                    {tool.requires_approval && ". A colleague approves each call"}
                  </p>
                </>
              )}
              {tool.type === "mcp" && <ServerTools server={tool} onTest={test} />}
            </li>
          ))}
        </ul>
      )}
      {open?.action === "add" && (
        <Dialog title="Add tool" isWide onClose={close}>
          <ChangedServers tools={tools} />
          <ToolForm tool={undefined} onSubmit={(tool) => save(undefined, tool)} />
        </Dialog>
      )}
      {open?.action === "edit" && (
        <Dialog title={`Edit ${open.tool.name}`} isWide onClose={close}>
          <ChangedServers tools={tools} />
          <ToolForm tool={open.tool} onSubmit={(tool) => save(open.tool, tool)} />
        </Dialog>
      )}
      {open?.action === "delete" && (
        <DeleteDialog title={`Delete ${open.tool.name}`} onClose={close} onDelete={() => remove(open.tool)}>
          <ChangedServers tools={tools.filter((tool) => tool !== open.tool)} />
          <p>The agent no longer calls it. Its headers are deleted too.</p>
        </DeleteDialog>
      )}
      {open?.action === "test" && <ToolTest agentId={id} name={open.name} parameters={open.parameters} onClose={close} />}
    </section>
  );
}

type Server = Extract<Tool, { type: "mcp" }>;

/** The tools of a server as they were when it was saved, which are a part of the prompt, or what has changed since. */
function ServerTools({ server, onTest }: { server: Server; onTest: (name: string, parameters: object) => void }) {
  if (server.problem !== null) {
    return <p class="field-error">{server.problem} Edit and save it to allow its tools as they are now.</p>;
  }
  return (
    <details>
      <summary>{countOf(server.tools.length, "tool")}</summary>
      <ul class="tools">
        {server.tools.map(({ name, description, parameters }) => (
          <li key={name}>
            <div class="card-top">
              <code class="grow">{`${server.name}_${name}`}</code>
              <Button
                variant="quiet"
                aria-label={`Test ${server.name}_${name}`}
                onClick={() => onTest(`${server.name}_${name}`, parameters)}
              >
                Test
              </Button>
            </div>
            <p class="plain">{description}</p>
          </li>
        ))}
      </ul>
    </details>
  );
}

/** Warns that the tools of servers that have changed are allowed again, since the tools of an agent are saved together. */
function ChangedServers({ tools }: { tools: readonly Tool[] }) {
  const changed = tools.filter((tool) => tool.type === "mcp" && tool.problem !== null).map(({ name }) => name);
  if (changed.length === 0) return null;
  return <p class="banner warning">This also allows the changed tools of {changed.join(", ")} as they are now.</p>;
}

/**
 * Replaces, adds or deletes one tool. The other tools are read first, so that the changes of colleagues are kept.
 * @throws InputError whose paths are those of the tool.
 */
async function replaceTool(agentId: string, before: Tool | undefined, tool: GivenTool | undefined): Promise<AgentSettings> {
  const { tools = [] } = await api.getAgent({ agent_id: agentId });
  const at = before ? tools.findIndex(({ name }) => name === before.name) : tools.length;
  if (at < 0) throw new InputError("Somebody else has deleted or renamed this tool. Load the page again.");
  const next = (tools as GivenTool[]).toSpliced(at, 1, ...(tool ? [tool] : []));
  try {
    return await api.updateAgent({ agent_id: agentId, body: { tools: next } });
  } catch (error) {
    throw movedError(error, (problem) => {
      const [, index, path = ""] = /^tools\.(\d+)\.?(.*)$/.exec(problem.path) ?? [];
      if (index === undefined) return problem;
      const { text } = problem;
      return tool && Number(index) === at ? { path, text } : { path: "", text: `${next[Number(index)]?.name}: ${text}` };
    });
  }
}

const OUTCOME_WORDS: Record<Schemas["ToolTest"]["outcome"], string> = {
  answered: "Answered",
  refused: "Not called",
  failed: "Failed",
};

interface TestProps {
  agentId: string;
  name: string;
  parameters: object;
  onClose: () => void;
}

/** Calls a tool of an agent, and shows the result as the model would read it. */
function ToolTest({ agentId, name, parameters, onClose }: TestProps) {
  const [result, setResult] = useState<Schemas["ToolTest"]>();
  const form = useForm(async ({ text }) => {
    setResult(undefined);
    const visitor = { external_id: text("external_id") || null, email: text("email") || null };
    const body = { arguments: parseObject(text("arguments"), "arguments"), visitor };
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
          spellcheck={false}
          defaultValue={sampleArguments(parameters)}
          hint='As JSON, such as {"order": "4711"}.'
          error={form.errorAt("arguments")}
        />
        <TextField
          label="Visitor’s id"
          name="external_id"
          maxLength={128}
          hint="Your own id of the person, as the tool receives it."
          error={form.errorAt("visitor")}
        />
        <TextField label="Visitor’s email" name="email" type="email" error={form.errorAt("visitor.email")} />
        <FormEnd form={form}>Call</FormEnd>
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

/** The arguments of a test call before they are filled in. */
function sampleArguments({ required = [] }: { required?: readonly string[] }): string {
  return JSON.stringify(Object.fromEntries(required.map((name) => [name, ""])));
}
