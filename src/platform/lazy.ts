/**
 * What is loaded when it is first needed: a module, by a dynamic `import`, or what is made of one. Later calls answer at once.
 * Callers that come while it is loaded load it too, which for a module gives the same one: a promise that one request waits
 * for must not be kept for another.
 */
export function lazy<Value extends object | string>(load: () => Promise<Value>): () => Value | Promise<Value> {
  let value: Value | undefined;
  return () => value ?? load().then((loaded) => (value ??= loaded));
}
