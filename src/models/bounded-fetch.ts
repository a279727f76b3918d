/** The same fetch, whose responses end with an error once they are longer than that; redirects are not followed with the key. */
export function boundedFetch(send: typeof fetch, maxBytes: number): typeof fetch {
  return async (input, init) => {
    const response = await send(input, { ...init, redirect: "manual" });
    return response.body ? new Response(bounded(response.body, maxBytes), response) : response;
  };
}

/** Counts in a stream of its own: a TransformStream costs each token more. */
function bounded(body: ReadableStream<Uint8Array>, maxBytes: number): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let left = maxBytes;
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
