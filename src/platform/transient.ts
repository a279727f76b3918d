/**
 * What D1, Durable Objects and SQLite say of trouble that passes, as their documentation and their source write it. D1's:
 * https://developers.cloudflare.com/d1/observability/debug-d1/
 */
const TRANSIENT = [
  /\bSQLITE_(?:BUSY|LOCKED)\b|database (?:table )?is locked/,
  /\bis overloaded\b|requests queued/i,
  /\b(?:caused object to be reset|reset because its code was updated|storage operation exceeded timeout)\b/,
  /^(?:D1_\w*ERROR: )?Network connection lost/,
  /\btransient issue on remote node\b/,
  /\bclient disconnected\b/,
  /^D1_\w*ERROR: .*\b(?:timeout|timed out|reset)\b/i,
  // Ours, of `withTimeout`.
  / took longer than \d+ ms$/,
];

/**
 * Whether the platform says that the same call may succeed later. It goes by the text, which is all that an error keeps when it
 * leaves a Durable Object, and looks at causes too, since the database driver wraps the errors of D1.
 */
export function isTransient(error: unknown): boolean {
  if (typeof error !== "object" || error === null) return false;
  const { retryable, overloaded, message, cause } = error as { [Name in "retryable" | "overloaded" | "message" | "cause"]?: unknown };
  if (retryable === true || overloaded === true) return true;
  return TRANSIENT.some((pattern) => pattern.test(String(message))) || isTransient(cause);
}
