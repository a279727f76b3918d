import type { RecordProblem } from "./records.ts";

/** An import that cannot be: what is sent is wrong, or what is there is in its way. The message says what to do. */
export class ImportRefusal extends Error {
  constructor(
    readonly kind: "invalid" | "conflict" | "unavailable",
    message: string,
    /** Of the records that were sent, each by its number. */
    readonly problems: readonly RecordProblem[] = [],
  ) {
    super(message);
  }
}
