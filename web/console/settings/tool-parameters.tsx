import { useState } from "preact/hooks";
import { InputError } from "../api.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { type ErrorAt, nextKey, parseObject } from "../ui/form.ts";
import { Checkbox, FieldError, Select, TextArea, TextField } from "../ui/field.tsx";

/** A parameter that the form can show as fields. */
export interface Parameter {
  key: number;
  name: string;
  type: (typeof TYPES)[number][0];
  description: string;
  isRequired: boolean;
}

const TYPES = [
  ["string", "Text"],
  ["integer", "Whole number"],
  ["number", "Number"],
  ["boolean", "Yes or no"],
] as const;
const NEW = { name: "", type: "string", description: "", isRequired: true } as const;

/** The parameters of a tool: as fields, or as JSON Schema where they have more than a name, a type and a description. */
export type Parameters = readonly Parameter[] | string;

interface Props {
  value: Parameters;
  onChange: (value: Parameters) => void;
  errorAt: ErrorAt;
}

export function ParameterFields({ value, onChange, errorAt }: Props) {
  const [problem, setProblem] = useState<string>();
  if (typeof value === "string") {
    const toFields = () => {
      try {
        const parameters = parametersOf(schemaOf(value));
        if (typeof parameters === "string") setProblem("These parameters can only be written as JSON.");
        else onChange(parameters);
      } catch (failure) {
        setProblem((failure as InputError).message);
      }
    };
    return (
      <div class="stack">
        <TextArea
          label="Parameters as JSON Schema"
          rows={8}
          spellcheck={false}
          value={value}
          onInput={({ currentTarget }) => {
            setProblem(undefined);
            onChange(currentTarget.value);
          }}
          error={errorAt("parameters") ?? problem}
        />
        <div class="actions">
          <Button onClick={toFields}>Show as fields</Button>
        </div>
      </div>
    );
  }
  const change = (key: number, part: Partial<Parameter>) => onChange(value.map((one) => (one.key === key ? { ...one, ...part } : one)));
  return (
    <fieldset>
      <legend>Parameters</legend>
      <p class="hint">The model fills these in, from what the visitor says.</p>
      {value.map(({ key, name, type, description, isRequired }) => (
        <div key={key} class="entry is-parameter" role="group" aria-label={`Parameter ${name}`}>
          <TextField
            label="Name"
            required
            placeholder="order"
            value={name}
            onInput={({ currentTarget }) => change(key, { name: currentTarget.value })}
            error={errorAt(`parameters.properties.${name.trim()}`)}
          />
          <Select label="Type" options={TYPES} value={type} onChoose={(chosen) => change(key, { type: chosen })} />
          <TextField
            label="Meaning"
            placeholder="The number of the order"
            value={description}
            onInput={({ currentTarget }) => change(key, { description: currentTarget.value })}
          />
          <Checkbox
            label="Required"
            checked={isRequired}
            onChange={({ currentTarget }) => change(key, { isRequired: currentTarget.checked })}
          />
          <IconButton icon="close" label={`Remove parameter ${name}`} onClick={() => onChange(value.filter((one) => one.key !== key))} />
        </div>
      ))}
      <FieldError text={errorAt("parameters")} />
      <div class="actions">
        <Button variant="quiet" onClick={() => onChange(JSON.stringify(schemaOf(value), null, 2))}>
          Write as JSON
        </Button>
        <Button onClick={() => onChange([...value, { ...NEW, key: nextKey(value) }])}>Add parameter</Button>
      </div>
    </fieldset>
  );
}

/** Reads parameters from a JSON Schema. Returns it as JSON if it has more than the fields of the form can show. */
export function parametersOf(schema: Record<string, unknown>): Parameters {
  const {
    type,
    properties = {},
    required = [],
    ...others
  } = schema as {
    type?: unknown;
    properties?: Record<string, Record<string, unknown>>;
    required?: string[];
  };
  const parameters = Object.entries(properties).map(([name, property], key) => {
    const { type: own, description = "", ...rest } = property as { type?: Parameter["type"]; description?: string };
    const isKnown = TYPES.some(([known]) => known === own) && Object.keys(rest).length === 0;
    return isKnown ? { key, name, type: own!, description, isRequired: required.includes(name) } : undefined;
  });
  const isSimple = type === "object" && Object.keys(others).length === 0 && parameters.every((one) => one !== undefined);
  return isSimple ? parameters : JSON.stringify(schema, null, 2);
}

/** Returns the JSON Schema of parameters. @throws InputError if they have none. */
export function schemaOf(parameters: Parameters): Record<string, unknown> {
  if (typeof parameters === "string") return parseObject(parameters, "parameters");
  const names = parameters.map(({ name }) => name.trim());
  const twice = names.find((name, at) => names.indexOf(name) < at);
  if (twice !== undefined) throw new InputError(`There are two parameters ${twice}.`, "parameters");
  const required = names.filter((_, at) => parameters[at]!.isRequired);
  const properties = parameters.map(({ type, description }, at) => {
    return [names[at]!, { type, ...(description.trim() && { description: description.trim() }) }] as const;
  });
  return { type: "object", properties: Object.fromEntries(properties), ...(required.length > 0 && { required }) };
}
