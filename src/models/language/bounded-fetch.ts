import { MAX_RESPONSE_BYTES } from "./limits.ts";

/** The same fetch, whose responses end with an error once they are longer than any answer; redirects are not followed with the key. */
export function boundedFetch(send: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await send(input, { ...init, redirect: "manual" });
    return response.body ? new Response(bounded(response.body), response) : response;
  };
}

/** Counts in a stream of its own: a TransformStream costs each token twice as much. */
function bounded(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let left = MAX_RESPONSE_BYTES;
  const source: UnderlyingSource<Uint8Array> = {
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) return controller.close();
      left -= value.byteLength;
      if (left >= 0) return controller.enqueue(value);
      await reader.cancel();
      throw new Error("The model's response is too long");
    },
    cancel: (reason) => reader.cancel(reason),
  };
  return new ReadableStream(source, { highWaterMark: 0 });
}
