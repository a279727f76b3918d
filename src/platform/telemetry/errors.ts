/** An error of the service itself. Its message holds nothing but ids and numbers, so that it may be logged. */
export class Fault extends Error {
  override name = "Fault";
}

/** Enough to locate the error; further frames are the framework's. */
const MAX_FRAMES = 8;
/** The starts of messages of the runtime, the platform and D1. Each pattern ends before a quotation, which may be personal data. */
const LOGGED_MESSAGES = [
  // The apostrophes in these messages do not start a quotation.
  /^(?:D1_\w*ERROR: )?(?:Can't read from request stream because client disconnected|D1 DB's isolate exceeded its memory limit and was reset)/,
  /^D1_\w*ERROR: [^"'`]*/,
  /^Cannot read properties of (?:undefined|null)/,
  /^[\w$.]+ is not (?:a function|a constructor|iterable|defined)/,
  /^Network connection lost/,
  /^database (?:table )?is locked[^"'`]*/,
  /^Internal error (?:in|while starting up) Durable Object storage [^"'`]*/,
  /^Cannot resolve (?:D1 DB|Durable Object) [^"'`]*/,
  /^Durable Object [^"'`:]*/,
  /^Exceeded [^"'`:]*/,
  /^Too many [^"'`:]*/,
];

/** The fields of an error in the log. */
export interface ErrorDescription {
  /** Its class. */
  error: string;
  /** Its message, if that is known to hold no personal data. */
  detail?: string;
  /** Where it was thrown, innermost first. */
  at?: string[];
}

/**
 * Describes an error by its class and location. Most messages are left out, since they may hold personal data: a parser quotes
 * its input, a database driver its parameters.
 */
export function describeError(error: unknown): ErrorDescription {
  if (!(error instanceof Error)) return { error: typeof error };
  const detail = detailOf(error);
  const at = framesOf(error);
  return { error: nameOf(error), ...(detail !== undefined && { detail }), ...(at.length > 0 && { at }) };
}

/**
 * Returns an error without personal data, to be thrown out of a Durable Object instead of the original: the platform logs the message.
 * Messages of the platform and D1 are kept, so that callers can recognize transient errors.
 */
export function withoutData(error: unknown): Fault {
  const { error: name, detail } = describeError(error);
  return new Fault(detail ?? `It failed with ${name}`);
}

/** The name of the error's class; a name that is no identifier may be personal data. */
function nameOf({ name }: Error): string {
  return /^\w{1,60}$/.test(name) ? name : "Error";
}

function detailOf(error: Error): string | undefined {
  if (error instanceof Fault) return error.message;
  const message = LOGGED_MESSAGES.map((pattern) => pattern.exec(error.message)?.[0]).find((text) => text !== undefined);
  if (message !== undefined) return message.trim();
  return error.cause instanceof Error ? detailOf(error.cause) : undefined;
}

/** Returns the first frames of the stack. The message is cut out first, since it may have lines that look like frames. */
function framesOf({ stack, message }: Error): string[] {
  const lines = (stack ?? "").replace(message, () => "").split("\n");
  return lines
    .map((line) => line.trim())
    .filter((line) => line.startsWith("at "))
    .slice(0, MAX_FRAMES)
    .map((line) => line.slice("at ".length));
}
