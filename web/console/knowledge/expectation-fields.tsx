import { useState } from "preact/hooks";
import { InputError } from "../api.ts";
import { HANDOFF_WORDS } from "../inbox/words.tsx";
import { hasLanguageModel } from "../session.ts";
import { FieldError, Select, TextArea } from "../ui/field.tsx";
import { type ErrorAt, type FormValues, linesOf, parseObject } from "../ui/form.ts";
import { type CaseChoices, citable } from "./case-target.tsx";
import type { Expectation } from "./cases.ts";

type Reason = NonNullable<Expectation["handoff_reason"]>;
type Outcome = "" | "answer" | "refuse" | Reason;

/** The reasons that a case may expect: the others do not depend on the answer. */
const REASONS = [
  "customer_request",
  "missing_knowledge",
  "low_confidence",
  "unsupported_request",
  "tool_failure",
  "approval_required",
] as const satisfies readonly Reason[];

const OUTCOMES: readonly (readonly [Outcome, string])[] = [
  ["", "Answers or hands over"],
  ["answer", "Answers"],
  ["refuse", "Hands over"],
  ...REASONS.map((reason) => [reason, `Hands over: ${HANDOFF_WORDS[reason]}`] as const),
];

const GOALS = [
  ["", "It does not matter"],
  ["true", "It must be reached"],
  ["false", "It must not be reached"],
] as const;

interface Props {
  /** The path of the expectation in the case. The names of the form's fields begin with it. */
  path: string;
  given: Expectation | null | undefined;
  choices: CaseChoices;
  /** Whether the conversation has a goal that may be reached. */
  hasGoal?: boolean;
  errorAt: ErrorAt;
}

/** The fields of what is expected of an answer, or of a whole conversation. */
export function ExpectationFields({ path, given, choices, hasGoal = false, errorAt }: Props) {
  const [outcome, setOutcome] = useState(() => outcomeOf(given));
  const isAnswer = outcome === "" || outcome === "answer";
  const { said = [], answer_contains: contained } = given ?? {};
  const lines = (name: "said" | "not_said" | "criteria", texts: readonly string[] = []) => ({
    name: `${path}.${name}`,
    rows: 2,
    defaultValue: texts.map((text) => text.replaceAll(/\s+/g, " ")).join("\n"),
    error: errorAt(`${path}.${name}`),
  });
  return (
    <div class="stack">
      {hasGoal && (
        <Select label="The visitor’s goal" name={`${path}.goal_reached`} options={GOALS} value={`${given?.goal_reached ?? ""}` as "true"} />
      )}
      <Select label="The agent" name={`${path}.outcome`} options={OUTCOMES} value={outcome} onChoose={setOutcome} />
      <div class="columns">
        <TextArea label="It says" {...lines("said", contained === undefined ? said : [contained, ...said])} hint="One text per line." />
        <TextArea label="It does not say" {...lines("not_said", given?.not_said)} hint="One text per line." />
      </div>
      <TextArea
        label="It calls"
        name={`${path}.tools_called`}
        rows={2}
        spellcheck={false}
        placeholder={'cancel_order {"order": "A1"}'}
        defaultValue={(given?.tools_called ?? []).map(callText).join("\n")}
        hint="One call per line: the name of the tool and, as JSON, arguments that the call has."
        error={errorAt(`${path}.tools_called`)}
      />
      {isAnswer && (
        <Select
          label="It cites"
          name={`${path}.source_id`}
          options={citable(choices)}
          value={given?.source_id ?? ""}
          error={errorAt(`${path}.source_id`)}
        />
      )}
      <TextArea
        label="What is true of it, in words"
        {...lines("criteria", given?.criteria)}
        disabled={!hasLanguageModel()}
        placeholder="It says sorry for the delay."
        hint={
          hasLanguageModel()
            ? "One sentence per line. The language model judges each one, and says why."
            : "This needs a language model as a judge, which this deployment does not have."
        }
      />
      <FieldError text={errorAt(path)} />
    </div>
  );
}

function outcomeOf(given: Expectation | null | undefined): Outcome {
  const { refusal, handoff_reason: reason, source_id: sourceId, answer_contains: contained } = given ?? {};
  if (reason !== undefined || refusal === true) return reason ?? "refuse";
  return refusal === false || sourceId !== undefined || contained !== undefined ? "answer" : "";
}

function callText({ name, arguments: given }: NonNullable<Expectation["tools_called"]>[number]): string {
  return given === undefined ? name : `${name} ${JSON.stringify(given)}`;
}

/** Reads the fields of an expectation; undefined if nothing is expected. @throws InputError if a call cannot be read. */
export function readExpectation({ text }: FormValues, path: string): Expectation | undefined {
  const outcome = text(`${path}.outcome`) as Outcome;
  const lines = (name: string) => linesOf(text(`${path}.${name}`));
  const [said, notSaid, calls, criteria] = [lines("said"), lines("not_said"), lines("tools_called"), lines("criteria")];
  const [sourceId, goal] = [text(`${path}.source_id`), text(`${path}.goal_reached`)];
  const expect: Expectation = {
    ...(outcome === "answer" && { refusal: false }),
    ...(outcome === "refuse" && { refusal: true }),
    ...(outcome !== "" && outcome !== "answer" && outcome !== "refuse" && { handoff_reason: outcome }),
    ...(said.length > 0 && { said }),
    ...(notSaid.length > 0 && { not_said: notSaid }),
    ...(calls.length > 0 && { tools_called: calls.map((call) => parseCall(call, `${path}.tools_called`)) }),
    ...(sourceId !== "" && { source_id: sourceId }),
    ...(criteria.length > 0 && { criteria }),
    ...(goal !== "" && { goal_reached: goal === "true" }),
  };
  return Object.keys(expect).length > 0 ? expect : undefined;
}

function parseCall(line: string, field: string): NonNullable<Expectation["tools_called"]>[number] {
  const [, name = "", given = ""] = /^(\S+)\s*(.*)$/.exec(line) ?? [];
  if (name.includes("{")) throw new InputError("Write the name of the tool before its arguments.", field);
  return { name, ...(given !== "" && { arguments: parseObject(given, field) }) };
}
