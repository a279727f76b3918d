import { useState } from "preact/hooks";
import { errorText } from "../api.ts";

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

/** Handles the submission of a form. If the action fails, `error` says why. */
export function useForm(action: (values: FormValues) => Promise<unknown>, firstError?: string) {
  const [error, setError] = useState(firstError);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: SubmitEvent) => {
    const values = readForm(event);
    setError(undefined);
    setBusy(true);
    try {
      await action(values);
    } catch (failure) {
      setError(errorText(failure));
    }
    setBusy(false);
  };
  return { error, isBusy, onSubmit: (event: SubmitEvent) => void submit(event) };
}
