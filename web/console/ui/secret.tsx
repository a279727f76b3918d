import { say, sayError } from "./toast.tsx";
import { Button } from "./button.tsx";

/** A text to be copied, such as a secret or a snippet. */
export function Secret({ value }: { value: string }) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(value);
      say("Copied");
    } catch (error) {
      sayError(error);
    }
  };
  return (
    <div class="secret">
      <pre tabIndex={0}>{value}</pre>
      <Button onClick={() => void copy()}>Copy</Button>
    </div>
  );
}
