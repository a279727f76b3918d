/** Rejects with the signal's reason when it says stop. Nobody need wait for it. */
export function aborted(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = () => reject(signal.reason as Error);
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  promise.catch(() => undefined);
  return promise;
}
