/** The variables that a tool's URL, headers and body may name in braces. The service fills them in; the model neither sees nor writes them. */
const VARIABLES = ["visitor.external_id", "visitor.email", "conversation.id"] as const;
export type Variable = (typeof VARIABLES)[number];

/** The values of the variables in one turn. A variable without a value is absent. */
export type VariableValues = Partial<Record<Variable, string>>;

/** A variable in a template. All other braces are text. */
const REFERENCE = /\{((?:visitor|conversation)\.[^{}]*)\}/g;
/** Characters that separate or end the parts of a header's value, and the percent sign that escapes them. */
const UNSAFE_IN_HEADER = /[^\x21-\x7e]|[",;\\%]/gu;

/** The variables that a template names. */
export function variablesIn(template: string): Variable[] {
  return [...template.matchAll(REFERENCE)].map(([, name]) => name!).filter(isVariable);
}

/** Why a template cannot be filled in, as a clause of an error message; undefined if it can. */
export function variableProblem(template: string): string | undefined {
  const unknown = [...template.matchAll(REFERENCE)].find(([, name]) => !isVariable(name!));
  return unknown && `${unknown[0]} is not known: use ${VARIABLES.map((name) => `{${name}}`).join(", ")}`;
}

export function isVariable(name: string): name is Variable {
  return VARIABLES.some((one) => one === name);
}

/** Fills in a header's value. Characters that could begin another part of the header are percent-encoded. */
export function fillHeader(template: string, values: VariableValues): string {
  return fill(template, values, (value) => value.toWellFormed().replaceAll(UNSAFE_IN_HEADER, encodeURIComponent));
}

/** Fills in all strings of a JSON value. */
export function fillJson(template: unknown, values: VariableValues): unknown {
  if (typeof template === "string") return fill(template, values, (value) => value);
  if (typeof template !== "object" || template === null) return template;
  if (Array.isArray(template)) return template.map((each) => fillJson(each, values));
  return Object.fromEntries(Object.entries(template).map(([name, each]) => [name, fillJson(each, values)]));
}

function fill(template: string, values: VariableValues, encode: (value: string) => string): string {
  return template.replaceAll(REFERENCE, (reference, name: string) => (isVariable(name) ? encode(values[name] ?? "") : reference));
}
