/** What a promise comes to, if it does so within the time; what was begun goes on unheeded. @throws Error when it does not. */
export async function withinMs<T>(limitMs: number, work: Promise<T>, what: string): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`${what} took longer than ${limitMs} ms`)), limitMs);
  // Whichever comes second is heard by nobody.
  work.catch(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
