import { attempt } from "./toast.tsx";
import { Button } from "./button.tsx";

/** A text to be copied, such as a secret or a snippet. */
export function Secret({ value }: { value: string }) {
  const copy = () => attempt(() => navigator.clipboard.writeText(value), "Copied");
  return (
    <div class="secret">
      <pre tabIndex={0}>{value}</pre>
      <Button onClick={() => void copy()}>Copy</Button>
    </div>
  );
}
