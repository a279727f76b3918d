import { useState } from "preact/hooks";
import { errorText, InputError } from "../api.ts";

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

/** Handles the submission of a form. If the action fails, `error` says why, or `errorAt` where it is wrong about one field. */
export function useForm(action: (values: FormValues) => Promise<unknown>, firstError?: string) {
  const [error, setError] = useState<{ text: string; field?: string | undefined } | undefined>(
    firstError === undefined ? undefined : { text: firstError },
  );
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: SubmitEvent) => {
    const values = readForm(event);
    setError(undefined);
    setBusy(true);
    try {
      await action(values);
    } catch (failure) {
      setError({ text: errorText(failure), ...(failure instanceof InputError && { field: failure.field }) });
    }
    setBusy(false);
  };
  const errorAt = (field: string | undefined) => (error?.field === field ? error?.text : undefined);
  return { error: errorAt(undefined), errorAt, isBusy, onSubmit: (event: SubmitEvent) => void submit(event) };
}
