/** An error of ours. Its text is written here and holds nothing but identifiers and numbers, so that the log may show it. */
export class Fault extends Error {
  override name = "Fault";
}

/** Enough to find the place; the rest of a stack is the framework's. */
const MAX_FRAMES = 8;
/** Texts that only the runtime, the platform and D1 write. What they quote may be data: each pattern ends before it. */
const TELLING = [
  /^D1_\w*ERROR: [^"'`]*/,
  /^Cannot read properties of (?:undefined|null)/,
  /^[\w$.]+ is not (?:a function|a constructor|iterable|defined)/,
  /^Network connection lost/,
  /^Durable Object [^"'`:]*/,
  /^Exceeded [^"'`:]*/,
  /^Too many [^"'`:]*/,
];

/** What the log may say of an error. */
export interface ErrorDescription {
  /** Its class. */
  error: string;
  /** Its text, where that is known to hold no data. */
  detail?: string;
  /** Where it was thrown, innermost first. */
  at?: string[];
}

/**
 * Tells an error by its class and its place. Its text stays out, unless it is one that holds nothing of anybody's: a
 * parser quotes what it read, a database driver the parameters of its query.
 */
export function describeError(error: unknown): ErrorDescription {
  if (!(error instanceof Error)) return { error: typeof error };
  const detail = detailOf(error);
  const at = framesOf(error);
  return { error: nameOf(error), ...(detail !== undefined && { detail }), ...(at.length > 0 && { at }) };
}

/**
 * What may be thrown out of an object in an error's stead: the platform keeps the text of whatever leaves one in its own log.
 * What is told of the platform and of D1 stays, so that callers can still tell what passes.
 */
export function withoutData(error: unknown): Fault {
  const { error: name, detail } = describeError(error);
  return new Fault(detail ?? `It failed with ${name}`);
}

/** A class's name as code has it; anything else could be somebody's text. */
function nameOf({ name }: Error): string {
  return /^\w{1,60}$/.test(name) ? name : "Error";
}

function detailOf(error: Error): string | undefined {
  if (error instanceof Fault) return error.message;
  const told = TELLING.map((pattern) => pattern.exec(error.message)?.[0]).find((text) => text !== undefined);
  if (told !== undefined) return told.trim();
  return error.cause instanceof Error ? detailOf(error.cause) : undefined;
}

/** The message comes before the frames, and may have lines that look like them. */
function framesOf({ stack, message }: Error): string[] {
  const lines = (stack ?? "").replace(message, () => "").split("\n");
  return lines
    .map((line) => line.trim())
    .filter((line) => line.startsWith("at "))
    .slice(0, MAX_FRAMES)
    .map((line) => line.slice("at ".length));
}
