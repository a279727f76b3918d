import { useEffect, useRef, useState } from "preact/hooks";
import { InputError, type Problem, problemsOf, problemText } from "../api.ts";

/** The values of a form: the text of a field without white space around it, and all checked values of a name. */
export interface FormValues {
  text: (name: string) => string;
  all: (name: string) => string[];
}

export function readForm(event: SubmitEvent): FormValues {
  event.preventDefault();
  const data = new FormData(event.currentTarget as HTMLFormElement);
  const all = (name: string) => data.getAll(name).filter((value) => typeof value === "string");
  return { text: (name) => (all(name)[0] ?? "").trim(), all };
}

/** Returns the problem of a field. @param field its name, which is the path of the field in the body of the request. */
export type ErrorAt = (field: string) => string | undefined;

/**
 * Handles the submission of a form. If the action fails, `errorAt` says what is wrong with a field or a part of it. `error` says what is
 * wrong with no field for which the form calls `errorAt`. The first field that is wrong gets the focus.
 */
export function useForm(action: (values: FormValues) => Promise<unknown>, firstError?: string) {
  const [errors, setErrors] = useState<Errors>(new Map(firstError === undefined ? [] : [["", firstError]]));
  const [isBusy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement | null>(null);
  const fields = useRef(new Set<string>());
  fields.current = new Set();
  useEffect(() => {
    const field = form.current?.querySelector<HTMLElement>("[aria-invalid]");
    // A field in a closed part of the form cannot have the focus.
    field?.closest("details")?.setAttribute("open", "");
    field?.focus();
  }, [errors]);
  const submit = async (event: SubmitEvent) => {
    const own = event.currentTarget as HTMLFormElement;
    form.current = own;
    const { changed } = own.dataset;
    const values = readForm(event);
    setErrors(new Map());
    setBusy(true);
    try {
      await action(values);
      // What was entered meanwhile is not saved.
      if (own.dataset["changed"] === changed) delete own.dataset["changed"];
    } catch (failure) {
      setErrors(errorsOf(problemsOf(failure), fields.current));
    }
    setBusy(false);
  };
  const errorAt: ErrorAt = (field) => {
    fields.current.add(field);
    return errors.get(field);
  };
  return { error: errors.get(""), errorAt, isBusy, onSubmit: (event: SubmitEvent) => void submit(event) };
}

/** The texts of errors by the names of the fields that show them; the empty name stands for the form. */
type Errors = ReadonlyMap<string, string>;

/** Gives each problem to the field at its path or, if no field of the form has that, to the nearest field above it. */
function errorsOf(problems: readonly Problem[], fields: ReadonlySet<string>): Errors {
  const texts = new Map<string, string>();
  for (const { path, text } of problems) {
    const above = [...fields].filter((field) => path === field || path.startsWith(`${field}.`));
    const field = above.toSorted((one, other) => other.length - one.length)[0] ?? "";
    const part = field === "" ? path : path.slice(field.length + 1);
    texts.set(field, [texts.get(field), problemText({ path: part, text })].filter(Boolean).join(" "));
  }
  return texts;
}

/** Returns the lines of a text that are not empty, without white space around them. */
export function linesOf(text: string): string[] {
  return text.split("\n").flatMap((line) => line.trim() || []);
}

/** Parses a JSON object. @throws InputError at a field. */
export function parseObject(text: string, field: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new InputError("This is not JSON.", field);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new InputError('Write a JSON object, such as {"order": "4711"}.', field);
}

/** Returns a key that no entry of a list has. */
export function nextKey(entries: readonly { key: number }[]): number {
  return Math.max(-1, ...entries.map(({ key }) => key)) + 1;
}
