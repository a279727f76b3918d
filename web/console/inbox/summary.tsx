import { useState } from "preact/hooks";
import { api } from "../api.ts";
import { useShortcuts } from "../keyboard.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { attempt } from "../ui/toast.tsx";

/** The summary of a conversation that was handed over, at request. */
export function Summary({ conversationId }: { conversationId: string }) {
  const [content, setContent] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const read = async () => {
    setBusy(true);
    await attempt(async () => setContent((await api.summarizeConversation({ conversation_id: conversationId })).content));
    setBusy(false);
  };
  useShortcuts({ s: () => void (content === undefined ? !isBusy && read() : setContent(undefined)) });
  return (
    <section class="summary" aria-label="Summary">
      {content === undefined ? (
        <Button variant="quiet" isBusy={isBusy} onClick={() => void read()} title="Summarise (s)">
          {isBusy ? "Summarising …" : "Summarise the conversation"}
        </Button>
      ) : (
        <>
          <p class="plain" role="status" tabIndex={0}>
            {content}
          </p>
          <IconButton icon="close" label="Hide the summary" onClick={() => setContent(undefined)} />
        </>
      )}
    </section>
  );
}
