import { useState } from "preact/hooks";
import { api, InputError, type Schemas } from "../api.ts";
import { useQuery } from "../query.ts";
import { hasLanguageModel, hasScope } from "../session.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { FieldError, Select, TextArea, TextField } from "../ui/field.tsx";
import { type ErrorAt, nextKey, useForm } from "../ui/form.ts";
import { Loaded } from "../ui/states.tsx";
import { type CaseChoices, readChoices, type SavedCase, saveCase, TargetFields } from "./case-target.tsx";
import type { Case, Expectation, RunCase } from "./cases.ts";
import { ExpectationFields, readExpectation } from "./expectation-fields.tsx";

const MAX_TURNS = 20;
const DEFAULT_TURNS = 8;
const NEW_NAME = "Conversations";

export interface CaseFormProps {
  agentId: string;
  /** The evaluation that gets the case; by default the user selects one. */
  evaluation?: Schemas["Evaluation"] | undefined;
  /** The case to change; undefined for a new one. */
  given?: RunCase | undefined;
  onSaved: (saved: SavedCase) => void;
}

/** The form for a case of several turns: fixed messages of a visitor or a persona, the answers of tools, and what is expected. */
export function CaseForm({ agentId, ...props }: CaseFormProps) {
  const query = useQuery(agentId, async (signal) => {
    const [choices, toolNames] = await Promise.all([readChoices(agentId, signal), readToolNames(agentId, signal)]);
    return { choices, toolNames };
  });
  return <Loaded query={query}>{(known) => <Form agentId={agentId} {...known} {...props} />}</Loaded>;
}

/** The names of the agent's tools, by which the model calls them. Only keys that may change the agent see them. */
async function readToolNames(agentId: string, signal: AbortSignal): Promise<string[]> {
  if (!hasScope("agents:read") || !hasScope("agents:write")) return [];
  const { tools } = (await api.getAgent({ agent_id: agentId }, { signal })) as Schemas["AgentSettings"];
  return tools.flatMap((tool) => (tool.type === "mcp" ? tool.tools.map(({ name }) => `${tool.name}_${name}`) : [tool.name]));
}

interface Turn {
  key: number;
  visitor: string;
  expect?: Expectation | null | undefined;
}

interface ToolAnswer {
  key: number;
  name: string;
  answer: string;
}

interface FormProps extends CaseFormProps {
  choices: CaseChoices;
  toolNames: readonly string[];
}

function Form({ agentId, evaluation, given, choices, toolNames, onSaved }: FormProps) {
  const [isPlayed, setPlayed] = useState(Boolean(given?.persona));
  const [turns, setTurns] = useState<readonly Turn[]>(() => withKeys(given?.turns ?? [{ visitor: "" }]));
  const [answers, setAnswers] = useState<readonly ToolAnswer[]>(() => answersOf(given?.tools));
  const [runId, setRunId] = useState(choices.runs[0]?.id ?? "");
  const form = useForm(async (values) => {
    const { text } = values;
    const expect = readExpectation(values, "expect");
    const common = { ...(expect && { expect }), tools: toolsOf(answers) };
    const saved: Case = isPlayed
      ? { persona: { goal: text("persona.goal"), facts: text("persona.facts"), max_turns: Number(text("persona.max_turns")) }, ...common }
      : {
          turns: turns.map((_, at) => ({
            visitor: text(`turns.${at}.visitor`),
            expect: readExpectation(values, `turns.${at}.expect`) ?? null,
          })),
          ...common,
        };
    const run = evaluation ?? choices.runs.find(({ id }) => id === runId);
    onSaved(await saveCase(agentId, run, text("name") || NEW_NAME, saved, given?.position));
  });
  const { errorAt } = form;
  return (
    <form class="stack parts" onSubmit={form.onSubmit}>
      <Visitor isPlayed={isPlayed} onChoose={setPlayed} />
      {isPlayed ? (
        <PersonaFields persona={given?.persona} errorAt={errorAt} />
      ) : (
        <TurnFields turns={turns} onChange={setTurns} choices={choices} errorAt={errorAt} />
      )}
      <ToolFields answers={answers} onChange={setAnswers} toolNames={toolNames} errorAt={errorAt} />
      <fieldset>
        <legend>At the end</legend>
        <p class="hint">What is expected of the whole conversation: of all answers together, and of the first hand-off.</p>
        <ExpectationFields
          key={isPlayed ? "persona" : "turns"}
          path="expect"
          given={given?.expect}
          choices={choices}
          hasGoal={isPlayed}
          errorAt={errorAt}
        />
      </fieldset>
      {!evaluation && <TargetFields runs={choices.runs} runId={runId} onChoose={setRunId} newName={NEW_NAME} errorAt={errorAt} />}
      <FieldError text={form.error} />
      <div class="actions">
        <Button variant="primary" type="submit" isBusy={form.isBusy}>
          Save and run
        </Button>
      </div>
    </form>
  );
}

/** Selects who writes the visitor's messages. */
function Visitor({ isPlayed, onChoose }: { isPlayed: boolean; onChoose: (isPlayed: boolean) => void }) {
  const options = [
    ["turns", "Writes these messages"],
    ["persona", "Is played by the language model"],
  ] as const;
  const canPlay = hasLanguageModel() || isPlayed;
  return (
    <Select
      label="The visitor"
      options={canPlay ? options : options.slice(0, 1)}
      value={isPlayed ? "persona" : "turns"}
      onChoose={(value) => onChoose(value === "persona")}
      hint={!canPlay && "A visitor with a goal is played by a language model, which this deployment does not have."}
    />
  );
}

function PersonaFields({ persona, errorAt }: { persona: RunCase["persona"] | undefined; errorAt: ErrorAt }) {
  return (
    <>
      <TextArea
        label="Goal"
        name="persona.goal"
        required
        rows={2}
        maxLength={2000}
        placeholder="Get a refund for a kettle that was bought a year ago."
        defaultValue={persona?.goal ?? ""}
        error={errorAt("persona.goal")}
      />
      <TextArea
        label="What the visitor knows"
        name="persona.facts"
        rows={2}
        maxLength={2000}
        placeholder="The order is A1. Writes briefly, and is impatient."
        defaultValue={persona?.facts ?? ""}
        hint="Facts that the visitor can tell, and how they write."
        error={errorAt("persona.facts")}
      />
      <TextField
        label="Messages at most"
        name="persona.max_turns"
        type="number"
        required
        min={1}
        max={MAX_TURNS}
        defaultValue={String(persona?.max_turns ?? DEFAULT_TURNS)}
        hint="Each counts toward the evaluation cases of a day."
        error={errorAt("persona.max_turns")}
      />
    </>
  );
}

interface TurnProps {
  turns: readonly Turn[];
  onChange: (turns: readonly Turn[]) => void;
  choices: CaseChoices;
  errorAt: ErrorAt;
}

function TurnFields({ turns, onChange, choices, errorAt }: TurnProps) {
  return (
    <fieldset>
      <legend>Messages of the visitor</legend>
      {turns.map(({ key, visitor, expect }, at) => (
        <div key={key} class="entry is-turn" role="group" aria-label={`Turn ${at + 1}`}>
          <TextArea
            label={`Message ${at + 1}`}
            name={`turns.${at}.visitor`}
            required
            rows={2}
            maxLength={2000}
            placeholder="Where is my order A1?"
            defaultValue={visitor}
            error={errorAt(`turns.${at}.visitor`)}
          />
          <IconButton
            icon="close"
            label={`Remove message ${at + 1}`}
            disabled={turns.length === 1}
            onClick={() => onChange(turns.filter((one) => one.key !== key))}
          />
          <details open={Boolean(expect)}>
            <summary>What is expected of the answer</summary>
            <ExpectationFields path={`turns.${at}.expect`} given={expect} choices={choices} errorAt={errorAt} />
          </details>
        </div>
      ))}
      <FieldError text={errorAt("turns")} />
      <div class="actions">
        <Button disabled={turns.length >= MAX_TURNS} onClick={() => onChange([...turns, { ...NEW_TURN, key: nextKey(turns) }])}>
          Add message
        </Button>
      </div>
    </fieldset>
  );
}

const NEW_TURN = { visitor: "", expect: null };

interface ToolProps {
  answers: readonly ToolAnswer[];
  onChange: (answers: readonly ToolAnswer[]) => void;
  toolNames: readonly string[];
  errorAt: ErrorAt;
}

function ToolFields({ answers, onChange, toolNames, errorAt }: ToolProps) {
  const change = (key: number, part: Partial<ToolAnswer>) => onChange(answers.map((one) => (one.key === key ? { ...one, ...part } : one)));
  return (
    <fieldset>
      <legend>Answers of the tools</legend>
      <p class="hint">
        No tool is called. One that the agent calls without an answer here makes the case wrong; one that needs an approval hands over.
      </p>
      <datalist id="case-tools">
        {toolNames.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      {answers.map(({ key, name, answer }) => (
        <div key={key} class="entry is-tool" role="group" aria-label={`Tool ${name}`}>
          <TextField
            label="Tool"
            required
            maxLength={128}
            autoComplete="off"
            spellcheck={false}
            list="case-tools"
            placeholder="order_status"
            value={name}
            onInput={({ currentTarget }) => change(key, { name: currentTarget.value })}
          />
          <TextArea
            label="Answer"
            required
            rows={2}
            spellcheck={false}
            placeholder={'{"order": "A1", "state": "shipped"}'}
            value={answer}
            onInput={({ currentTarget }) => change(key, { answer: currentTarget.value })}
            hint="JSON or a text."
            error={errorAt(`tools.${name.trim()}`)}
          />
          <IconButton icon="close" label={`Remove tool ${name}`} onClick={() => onChange(answers.filter((one) => one.key !== key))} />
        </div>
      ))}
      <FieldError text={errorAt("tools")} />
      <div class="actions">
        <Button onClick={() => onChange([...answers, { key: nextKey(answers), name: unusedOf(toolNames, answers), answer: "" }])}>
          Add answer
        </Button>
      </div>
    </fieldset>
  );
}

/** The first tool without an answer. */
function unusedOf(toolNames: readonly string[], answers: readonly ToolAnswer[]): string {
  return toolNames.find((name) => answers.every((one) => one.name !== name)) ?? "";
}

function withKeys(turns: readonly Omit<Turn, "key">[]): Turn[] {
  return turns.map((turn, key) => ({ ...turn, key }));
}

function answersOf(tools: Record<string, unknown> | null | undefined): ToolAnswer[] {
  return Object.entries(tools ?? {}).map(([name, answer], key) => ({ key, name, answer: textOf(answer) }));
}

/** An answer as it is written in the form: a text as it is, unless it would be read as JSON. */
function textOf(answer: unknown): string {
  return typeof answer === "string" && valueOf(answer) === answer ? answer : JSON.stringify(answer, null, 2);
}

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The answers as the service takes them. @throws InputError if two have the same name. */
function toolsOf(answers: readonly ToolAnswer[]): Record<string, unknown> {
  const names = answers.map(({ name }) => name.trim());
  const twice = names.find((name, at) => names.indexOf(name) < at);
  if (twice !== undefined) throw new InputError(`There are two answers of ${twice}.`, "tools");
  return Object.fromEntries(answers.map(({ answer }, at) => [names[at]!, valueOf(answer.trim())]));
}
