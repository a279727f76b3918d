/** The same fetch, whose responses end with an error once they are longer than that; redirects are not followed with the key. */
export function boundedFetch(send: typeof fetch, maxBytes: number): typeof fetch {
  return async (input, init) => {
    const response = await send(input, { ...init, redirect: "manual" });
    if (!response.body) return response;
    let left = maxBytes;
    const bound = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        left -= chunk.byteLength;
        if (left < 0) controller.error(new Error("The model's response is too long"));
        else controller.enqueue(chunk);
      },
    });
    return new Response(response.body.pipeThrough(bound), response);
  };
}
