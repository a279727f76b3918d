import { HEARTBEAT_MS } from "./stream.ts";
import { formatComment, formatData } from "./stream-formats.ts";

/**
 * Streams the events of a suggestion that is being written.
 * @param write writes the suggestion, and passes on its pieces.
 * @param errorOf makes the error of the last event, in case the writing fails.
 */
export async function* streamSuggestion(
  write: (onText: (text: string) => void) => Promise<object>,
  errorOf: (error: unknown) => object,
): AsyncGenerator<string, void> {
  let text = "";
  let change = Promise.withResolvers<void>();
  let end: string | undefined;
  const writing = write((piece) => {
    text += piece;
    change.resolve();
  });
  void writing
    .then(
      (suggestion) => formatSuggestionEvent("done", suggestion),
      (error: unknown) => formatSuggestionEvent("error", { error: errorOf(error) }),
    )
    .then((event) => {
      end = event;
      return change.resolve();
    });
  while (end === undefined || text !== "") {
    const isChanged = text !== "" || end !== undefined || (await settlesWithin(change.promise, HEARTBEAT_MS));
    change = Promise.withResolvers();
    const added = text;
    text = "";
    if (added !== "") yield formatSuggestionEvent("delta", { text: added });
    else if (!isChanged) yield formatComment("still writing");
  }
  yield end;
}

function formatSuggestionEvent(event: string, data: object): string {
  return `event: ${event}\n${formatData(data)}`;
}

/** Waits for a promise, and returns whether it settled within a time. */
async function settlesWithin(promise: Promise<void>, timeMs: number): Promise<boolean> {
  const { promise: timeout, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), timeMs);
  const isSettled = await Promise.race([promise.then(() => true), timeout]);
  clearTimeout(timer);
  return isSettled;
}
