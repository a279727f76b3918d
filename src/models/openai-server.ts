import { createOpenAICompatible } from "@ai-sdk/openai-compatible";

/**
 * The models of a server that speaks the OpenAI protocol. It is the operator's own configuration: unlike addresses that
 * tenants give, it does not pass the egress guard, and may be inside.
 * @param maxBytes responses that are longer end with an error.
 */
export function openAiServer(
  { baseUrl, apiKey }: { baseUrl: string; apiKey: string | undefined },
  maxBytes: number,
  send: typeof fetch = (...request) => fetch(...request),
) {
  return createOpenAICompatible({
    name: "openai-compatible",
    baseURL: baseUrl,
    includeUsage: true,
    fetch: boundedFetch(send, maxBytes),
    ...(apiKey !== undefined && { apiKey }),
  });
}

/** The same fetch, whose responses end with an error once they are longer than that; redirects are not followed with the key. */
function boundedFetch(send: typeof fetch, maxBytes: number): typeof fetch {
  return async (input, init) => {
    const response = await send(input, { ...init, redirect: "manual" });
    if (!response.body) return response;
    if (!isEventStream(response)) return new Response(bounded(response.body, maxBytes), response);
    countReads(response.body, maxBytes);
    return response;
  };
}

function isEventStream({ headers }: Response): boolean {
  return headers.get("Content-Type")?.toLowerCase().startsWith("text/event-stream") ?? false;
}

/** A stream in between, which holds however the response is read. */
function bounded(body: ReadableStream<Uint8Array>, maxBytes: number): ReadableStream<Uint8Array> {
  countReads(body, maxBytes);
  const reader = body.getReader();
  const source: UnderlyingSource<Uint8Array> = {
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  };
  return new ReadableStream(source, { highWaterMark: 0 });
}

/**
 * Counts what is read of a body by its reader. The provider reads events that way, and a stream in between would cost a
 * sixth of what a token costs in all.
 */
function countReads(body: ReadableStream<Uint8Array>, maxBytes: number): void {
  const reader = body.getReader();
  const read = reader.read.bind(reader);
  let left = maxBytes;
  reader.read = async () => {
    const result = await read();
    left -= result.value?.byteLength ?? 0;
    if (left >= 0) return result;
    await reader.cancel();
    throw new Error("The model's response is too long");
  };
  // The one reader that there is, with its count: whatever else would read the body finds it locked.
  body.getReader = (() => reader) as unknown as typeof body.getReader;
}
