import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";

interface Common {
  label: string;
  hint?: ComponentChildren;
  error?: string | undefined;
  /** The label is read aloud only. */
  hideLabel?: boolean;
}

function Labelled({ label, hint, error, hideLabel, id, children }: Common & { id: string; children: ComponentChildren }) {
  return (
    <div class="field">
      <label for={id} class={hideLabel ? "sr-only" : ""}>
        {label}
      </label>
      {children}
      {hint && !error && (
        <p class="hint" id={`${id}-note`}>
          {hint}
        </p>
      )}
      {error && (
        <p class="field-error" id={`${id}-note`} role="alert">
          {error}
        </p>
      )}
    </div>
  );
}

/** What an input takes; its type is one of many, which the elements' own types tell apart. */
type InputProps = Omit<JSX.IntrinsicElements["input"], "type" | "label"> & { type?: string };

export function TextField({ label, hint, error, hideLabel, ...rest }: Common & InputProps) {
  const id = useId();
  const described = hint || error ? `${id}-note` : undefined;
  return (
    <Labelled {...{ label, hint, error, id }} hideLabel={hideLabel ?? false}>
      <input {...(rest as object)} id={id} aria-invalid={error ? true : undefined} aria-describedby={described} />
    </Labelled>
  );
}

/** From which confidence on an agent answers. */
export function ConfidenceField(props: Omit<Common, "label"> & InputProps) {
  return <TextField label="Answers from this confidence on" type="number" min={0} max={1} step={0.01} {...props} />;
}

export function TextArea({ label, hint, error, hideLabel, ...rest }: Common & JSX.IntrinsicElements["textarea"]) {
  const id = useId();
  const described = hint || error ? `${id}-note` : undefined;
  return (
    <Labelled {...{ label, hint, error, id }} hideLabel={hideLabel ?? false}>
      <textarea {...rest} id={id} aria-invalid={error ? true : undefined} aria-describedby={described} />
    </Labelled>
  );
}

export function Select({
  label,
  hint,
  error,
  hideLabel,
  options,
  ...rest
}: Common & { options: readonly (readonly [value: string, text: string])[] } & JSX.IntrinsicElements["select"]) {
  const id = useId();
  return (
    <Labelled {...{ label, hint, error, id }} hideLabel={hideLabel ?? false}>
      <select {...rest} id={id} aria-describedby={hint || error ? `${id}-note` : undefined}>
        {options.map(([value, text]) => (
          <option key={value} value={value} selected={value === rest.value}>
            {text}
          </option>
        ))}
      </select>
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
