import { useEffect, useRef, useState } from "preact/hooks";
import { ExternalLink } from "../../shared/markdown.tsx";
import { api, errorText, type Schemas } from "../api.ts";
import { Button } from "../ui/button.tsx";
import { formatConfidence } from "../ui/format.tsx";

interface Props {
  conversationId: string;
  onUse: (text: string) => void;
  onClose: () => void;
}

/** A reply that the agent suggests, as it is written. Enter puts it into the field for a reply, and Esc discards it. */
export function SuggestedReply({ conversationId, onUse, onClose }: Props) {
  const [text, setText] = useState("");
  const [done, setDone] = useState<Schemas["SuggestedReply"]>();
  const [error, setError] = useState<string>();
  const section = useRef<HTMLElement>(null);
  useEffect(() => {
    section.current?.focus();
    const controller = new AbortController();
    const read = async () => {
      for await (const event of api.streamSuggestedReply({ conversation_id: conversationId }, { signal: controller.signal })) {
        if (event.type === "delta") setText((before) => before + event.text);
        else setDone(event.answer);
      }
    };
    read().catch((failure: unknown) => controller.signal.aborted || setError(errorText(failure)));
    return () => controller.abort();
  }, []);
  const content = done?.content ?? text;
  const isUsable = done !== undefined && content !== "";
  return (
    <section
      ref={section}
      class="suggestion"
      aria-label="Suggested reply"
      aria-busy={!done && !error}
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose();
        else if (event.key === "Enter" && isUsable && !(event.target as Element).closest("a, button")) onUse(content);
        else return;
        event.preventDefault();
        event.stopPropagation();
      }}
    >
      {content === "" && !error && !done && <p class="quiet">The agent writes a suggestion …</p>}
      {content !== "" && (
        <p class="plain scroll" tabIndex={0}>
          {content}
        </p>
      )}
      {done && content === "" && <p>Nothing was found in the agent's knowledge.</p>}
      {error && <p class="field-error">{error}</p>}
      {isUsable && (
        <ul>
          {done.citations.map(({ title, url, snippet }, at) => (
            <li key={at} title={snippet}>
              {url ? <ExternalLink href={url}>{title}</ExternalLink> : title}
            </li>
          ))}
          <li class="quiet">Confidence {formatConfidence(done.confidence)}</li>
        </ul>
      )}
      <p class="sr-only" role="status">
        {isUsable ? `Suggested: ${content}` : (error ?? (done ? "Nothing was found" : ""))}
      </p>
      <div class="actions">
        <Button variant="quiet" onClick={onClose} title="Esc">
          Discard
        </Button>
        {(isUsable || (!done && !error)) && (
          <Button disabled={!isUsable} onClick={() => onUse(content)} title="Enter">
            Use it
          </Button>
        )}
      </div>
    </section>
  );
}
