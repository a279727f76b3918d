import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";
import { Button } from "./button.tsx";

interface Common {
  label: string;
  hint?: ComponentChildren | undefined;
  error?: string | undefined;
  /** Whether the label is only read aloud, and not visible. */
  hideLabel?: boolean | undefined;
}

/** The attributes that connect an input with its label, hint and error. */
interface Attributes {
  id: string;
  "aria-invalid": true | undefined;
  "aria-describedby": string | undefined;
}

function Labelled({ label, hint, error, hideLabel, children }: Common & { children: (attributes: Attributes) => ComponentChildren }) {
  const id = useId();
  const noteId = `${id}-note`;
  return (
    <div class="field">
      <label for={id} class={hideLabel ? "sr-only" : ""}>
        {label}
      </label>
      {children({ id, "aria-invalid": error ? true : undefined, "aria-describedby": hint || error ? noteId : undefined })}
      {hint && !error && (
        <p class="hint" id={noteId}>
          {hint}
        </p>
      )}
      <FieldError id={noteId} text={error} />
    </div>
  );
}

/** Says what is wrong with a field or a group of fields, if something is. */
export function FieldError({ id, text }: { id?: string; text: string | undefined }) {
  if (!text) return null;
  return (
    <p class="field-error" id={id} role="alert">
      {text}
    </p>
  );
}

/** The end of a form: what is wrong with no field of it, and the button that sends it. */
export function FormEnd({ form, children }: { form: { error: string | undefined; isBusy: boolean }; children: ComponentChildren }) {
  return (
    <>
      <FieldError text={form.error} />
      <Button variant="primary" type="submit" isBusy={form.isBusy}>
        {children}
      </Button>
    </>
  );
}

/** The props of an input of any type. */
type InputProps = Omit<JSX.IntrinsicElements["input"], "type" | "label"> & { type?: string; list?: string };

export function TextField({ label, hint, error, hideLabel, ...rest }: Common & InputProps) {
  return <Labelled {...{ label, hint, error, hideLabel }}>{(attributes) => <input {...(rest as object)} {...attributes} />}</Labelled>;
}

export function ConfidenceField(props: Omit<Common, "label"> & InputProps) {
  return <TextField label="Confidence threshold" type="number" min={0} max={1} step={0.01} {...props} />;
}

export function TextArea({ label, hint, error, hideLabel, ...rest }: Common & JSX.IntrinsicElements["textarea"]) {
  return <Labelled {...{ label, hint, error, hideLabel }}>{(attributes) => <textarea {...rest} {...attributes} />}</Labelled>;
}

type SelectProps<Value extends string> = Common &
  Omit<JSX.IntrinsicElements["select"], "label" | "value"> & {
    options: readonly (readonly [value: Value, text: string])[];
    value?: NoInfer<Value>;
    onChoose?: (value: NoInfer<Value>) => void;
  };

/** A select field. Without `onChoose`, the form reads its value, and rendering it again keeps what the user chose. */
export function Select<Value extends string>({ label, hint, error, hideLabel, options, value, onChoose, ...rest }: SelectProps<Value>) {
  return (
    <Labelled {...{ label, hint, error, hideLabel }}>
      {(attributes) => (
        <select
          {...(rest as object)}
          {...attributes}
          {...(onChoose && { value, onChange: ({ currentTarget }) => onChoose(currentTarget.value as Value) })}
        >
          {options.map(([each, text]) => (
            <option key={each} value={each} selected={each === value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  );
}

export function Checkbox({ label, ...rest }: { label: ComponentChildren } & InputProps) {
  return (
    <label class="checkbox">
      <input {...(rest as object)} type="checkbox" />
      <span>{label}</span>
    </label>
  );
}
