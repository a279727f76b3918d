import { useState } from "preact/hooks";
import { InputError, type Schemas } from "../api.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { FieldError, Select, TextArea, TextField } from "../ui/field.tsx";
import { type ErrorAt, nextKey, parseObject, useForm } from "../ui/form.ts";
import type { AgentSettings } from "./agent-page.tsx";
import { ParameterFields, type Parameters, parametersOf, schemaOf } from "./tool-parameters.tsx";

export type Tool = AgentSettings["tools"][number];
export type GivenTool = NonNullable<Schemas["AgentUpdate"]["tools"]>[number];
type HttpTool = Extract<Tool, { type: "http" }>;
type McpServer = Extract<Tool, { type: "mcp" }>;
type ClientTool = Extract<Tool, { type: "client" }>;
type Method = HttpTool["method"];

const KINDS = [
  ["http", "A request to your API"],
  ["mcp", "The tools of an MCP server"],
  ["client", "A function of your program or page"],
] as const satisfies readonly (readonly [Tool["type"], string])[];
const SURFACES = [
  ["server", "Your program that asks over the API"],
  ["browser", "The page that shows the widget"],
] as const satisfies readonly (readonly [ClientTool["runs_in"], string])[];
const APPROVALS = [
  ["true", "A colleague approves each call"],
  ["false", "Called at once"],
] as const;
const NAMES = {
  http: { example: "order_status", hint: "The name under which the model calls it: small letters, digits and _." },
  mcp: { example: "shop", hint: "The beginning of the names of its tools: small letters, digits and _." },
  client: { example: "cancel_order", hint: "The name of the function: small letters, digits and _." },
};
const METHODS = (["GET", "POST", "PUT", "PATCH", "DELETE"] as const).map((method) => [method, method] as const);
const METHODS_WITH_BODY: ReadonlySet<Method> = new Set(["POST", "PUT", "PATCH"]);
const MAX_TIMEOUT_SECONDS = 30;
const DEFAULT_TIMEOUT_SECONDS = 10;
const VARIABLES = (
  <>
    <code>{"{visitor.external_id}"}</code>, <code>{"{visitor.email}"}</code> and <code>{"{conversation.id}"}</code>
  </>
);

/** A header of the form. Without a new value, a stored one is kept. */
interface Header {
  key: number;
  name: string;
  value: string;
  isStored: boolean;
}

interface Props {
  /** The tool to edit; undefined for a new one. */
  tool: Tool | undefined;
  onSubmit: (tool: GivenTool) => Promise<void>;
}

/** Adds or edits a tool of an agent. The values of its headers are never shown again. */
export function ToolForm({ tool, onSubmit }: Props) {
  const [type, setType] = useState<Tool["type"]>(tool?.type ?? "http");
  const [headers, setHeaders] = useState<readonly Header[]>(() => storedHeaders(tool));
  const http = tool?.type === "http" ? tool : undefined;
  const [method, setMethod] = useState<Method>(http?.method ?? "GET");
  const shown = tool?.type === "mcp" ? undefined : tool;
  const [parameters, setParameters] = useState<Parameters>(() => parametersOf(shown?.parameters ?? { type: "object" }));
  const [runsIn, setRunsIn] = useState<ClientTool["runs_in"]>(tool?.type === "client" ? tool.runs_in : "server");
  const form = useForm(({ text }) => {
    if (type === "client") {
      return onSubmit({ type, name: text("name"), description: text("description"), parameters: schemaOf(parameters), runs_in: runsIn });
    }
    const verified = text("requires_verified_visitor");
    const common = {
      name: text("name"),
      url: text("url"),
      headers: givenHeaders(headers),
      timeout_seconds: Number(text("timeout_seconds")),
      ...(verified !== "" && { requires_verified_visitor: verified === "true" }),
      requires_approval: text("requires_approval") === "true",
    };
    if (type === "mcp") return onSubmit({ ...common, type, allowed_tools: text("allowed_tools").match(/\S+/g) });
    return onSubmit({
      ...common,
      type,
      description: text("description"),
      method,
      parameters: schemaOf(parameters),
      body: text("body") === "" ? {} : parseObject(text("body"), "body"),
    });
  });
  const { errorAt } = form;
  // For another method, the service decides again.
  const decided = tool?.type !== "client" && method === (http?.method ?? method) ? tool : undefined;
  return (
    <form class="stack" onSubmit={form.onSubmit}>
      {!tool && <Select label="Kind" options={KINDS} value={type} onChoose={setType} />}
      <TextField
        label="Name"
        name="name"
        required
        maxLength={64}
        spellcheck={false}
        placeholder={NAMES[type].example}
        defaultValue={tool?.name ?? ""}
        hint={NAMES[type].hint}
        error={errorAt("name")}
      />
      {type !== "mcp" && <DescriptionField text={shown?.description} error={errorAt("description")} />}
      {type === "http" && <HttpFields tool={http} {...{ method, setMethod, parameters, setParameters, errorAt }} />}
      {type === "mcp" && <McpFields tool={tool?.type === "mcp" ? tool : undefined} errorAt={errorAt} />}
      {type === "client" && (
        <>
          <Select
            label="Where it runs"
            options={SURFACES}
            value={runsIn}
            onChoose={setRunsIn}
            hint="Visitors can read and change what a function of a page does."
          />
          <ParameterFields value={parameters} onChange={setParameters} errorAt={errorAt} />
        </>
      )}
      {type !== "client" && (
        <CallFields
          {...{ type, method, decided, headers, setHeaders, errorAt }}
          timeoutSeconds={decided?.timeout_seconds ?? http?.timeout_seconds}
        />
      )}
      <FieldError text={form.error} />
      <div class="actions">
        <Button variant="primary" type="submit" isBusy={form.isBusy}>
          {tool ? "Save" : "Add tool"}
        </Button>
      </div>
    </form>
  );
}

interface CallProps {
  type: "http" | "mcp";
  method: Method;
  /** The stored tool, unless the service decides again. */
  decided: HttpTool | McpServer | undefined;
  timeoutSeconds: number | undefined;
  headers: readonly Header[];
  setHeaders: (headers: readonly Header[]) => void;
  errorAt: ErrorAt;
}

/** The fields of a tool that the service calls: its headers, who may use it, and how it is called. */
function CallFields({ type, method, decided, timeoutSeconds = DEFAULT_TIMEOUT_SECONDS, headers, setHeaders, errorAt }: CallProps) {
  return (
    <>
      <HeaderFields headers={headers} onChange={setHeaders} errorAt={errorAt} />
      <Select
        key={decided ? "decided" : "default"}
        label="Available"
        name="requires_verified_visitor"
        options={availabilities(decided !== undefined, type, method)}
        value={decided ? (`${decided.requires_verified_visitor}` as const) : ""}
        hint="A visitor is verified if your API key or a signed identity says who it is. By default, a tool that may change something is for them only."
        error={errorAt("requires_verified_visitor")}
      />
      <Select
        key={method}
        label="Approval"
        name="requires_approval"
        options={APPROVALS}
        value={`${decided?.requires_approval ?? (type === "mcp" || method !== "GET")}`}
        hint="In the inbox, a colleague approves, changes or declines the call. A server's tools that only read need no approval."
        error={errorAt("requires_approval")}
      />
      <TextField
        label="Seconds that a response may take"
        name="timeout_seconds"
        type="number"
        required
        min={1}
        max={MAX_TIMEOUT_SECONDS}
        defaultValue={String(timeoutSeconds)}
        error={errorAt("timeout_seconds")}
      />
    </>
  );
}

function DescriptionField({ text = "", error }: { text: string | undefined; error: string | undefined }) {
  return (
    <TextArea
      label="Description"
      name="description"
      required
      rows={3}
      maxLength={1000}
      placeholder="Says where an order of the visitor is. Use it when they name an order."
      defaultValue={text}
      hint="The model reads what the tool does and when to use it."
      error={error}
    />
  );
}

interface HttpProps {
  tool: HttpTool | undefined;
  method: Method;
  setMethod: (method: Method) => void;
  parameters: Parameters;
  setParameters: (parameters: Parameters) => void;
  errorAt: ErrorAt;
}

/** The fields that only a request to an API has, and its URL. */
function HttpFields({ tool, method, setMethod, parameters, setParameters, errorAt }: HttpProps) {
  return (
    <>
      <Select label="Method" options={METHODS} value={method} onChoose={setMethod} />
      <TextField
        label="URL"
        name="url"
        type="url"
        required
        maxLength={1000}
        placeholder="https://api.example.com/orders/{order}"
        defaultValue={tool?.url ?? ""}
        hint={
          <>
            <code>{"{order}"}</code> stands for the required parameter order. {VARIABLES} are filled in by the service.
          </>
        }
        error={errorAt("url")}
      />
      <ParameterFields value={parameters} onChange={setParameters} errorAt={errorAt} />
      {METHODS_WITH_BODY.has(method) && (
        <TextArea
          label="Fields that are always in the body"
          name="body"
          rows={3}
          spellcheck={false}
          placeholder={'{"customer": "{visitor.external_id}"}'}
          defaultValue={tool && Object.keys(tool.body).length > 0 ? JSON.stringify(tool.body, null, 2) : ""}
          hint={<>As JSON, beside the parameters. {VARIABLES} are filled in by the service.</>}
          error={errorAt("body")}
        />
      )}
    </>
  );
}

/** The fields that only an MCP server has, and its URL. */
function McpFields({ tool, errorAt }: { tool: McpServer | undefined; errorAt: ErrorAt }) {
  return (
    <>
      <TextField
        label="URL"
        name="url"
        type="url"
        required
        maxLength={1000}
        placeholder="https://mcp.example.com/mcp"
        defaultValue={tool?.url ?? ""}
        error={errorAt("url")}
      />
      <TextArea
        label="Tools that the agent may call"
        name="allowed_tools"
        rows={3}
        spellcheck={false}
        defaultValue={tool?.allowed_tools?.join("\n") ?? ""}
        hint="One name per line. If you leave it empty, the agent may call all tools that the server has when you save."
        error={errorAt("allowed_tools")}
      />
    </>
  );
}

/** For whom the model gets a tool. The service can decide it for a new tool, and for another method. */
function availabilities(isDecided: boolean, type: Tool["type"], method: Method) {
  const own = [
    ["true", "For verified visitors only"],
    ["false", "For all visitors"],
  ] as const;
  const byMethod = method === "GET" ? "for all visitors" : "for verified visitors only";
  return isDecided ? own : ([["", `By default: ${type === "http" ? byMethod : "as its tools are marked"}`], ...own] as const);
}

interface HeaderProps {
  headers: readonly Header[];
  onChange: (headers: readonly Header[]) => void;
  errorAt: ErrorAt;
}

function HeaderFields({ headers, onChange, errorAt }: HeaderProps) {
  const change = (key: number, part: Partial<Header>) => onChange(headers.map((one) => (one.key === key ? { ...one, ...part } : one)));
  return (
    <fieldset>
      <legend>Headers</legend>
      <p class="hint">Values are stored encrypted and never shown again. {VARIABLES} are filled in by the service.</p>
      {headers.map(({ key, name, value, isStored }) => (
        <div key={key} class="entry is-header" role="group" aria-label={`Header ${name}`}>
          <TextField
            label="Name"
            required
            autoComplete="off"
            spellcheck={false}
            placeholder="Authorization"
            value={name}
            onInput={({ currentTarget }) => change(key, { name: currentTarget.value })}
          />
          <TextField
            label="Value"
            required={!isStored}
            autoComplete="off"
            spellcheck={false}
            placeholder={isStored ? "Stored. Write a new one to replace it." : "Bearer …"}
            value={value}
            onInput={({ currentTarget }) => change(key, { value: currentTarget.value })}
            error={errorAt(`headers.${name.trim()}`)}
          />
          <IconButton icon="close" label={`Remove header ${name}`} onClick={() => onChange(headers.filter((one) => one.key !== key))} />
        </div>
      ))}
      <FieldError text={errorAt("headers")} />
      <div class="actions">
        <Button onClick={() => onChange([...headers, { key: nextKey(headers), name: "", value: "", isStored: false }])}>Add header</Button>
      </div>
    </fieldset>
  );
}

function storedHeaders(tool: Tool | undefined): Header[] {
  if (!tool || tool.type === "client") return [];
  return Object.keys(tool.headers).map((name, key) => ({ key, name, value: "", isStored: true }));
}

/** The headers as the service takes them: null keeps a stored value. @throws InputError if two have the same name. */
function givenHeaders(headers: readonly Header[]): Record<string, string | null> {
  const names = headers.map(({ name }) => name.trim());
  const twice = names.find((name, at) => names.findIndex((other) => other.toLowerCase() === name.toLowerCase()) < at);
  if (twice !== undefined) throw new InputError(`There are two headers ${twice}.`, "headers");
  return Object.fromEntries(headers.map(({ value, isStored }, at) => [names[at]!, isStored && value === "" ? null : value.trim()]));
}
