/** What the check found out about a part of the account. */
export interface Finding {
  subject: string;
  state: "ok" | "note" | "fault" | "missing" | "taken";
  /** What was found, and what the operator has to do where. */
  text: string;
}

type FindingOf = (subject: string, text: string) => Finding;

/** A part that is as it should be. */
export const ok: FindingOf = (subject, text) => ({ subject, state: "ok", text });
/** Something that the operator should know. */
export const note: FindingOf = (subject, text) => ({ subject, state: "note", text });
/** A fault in a part that a deployment does not need. */
export const fault: FindingOf = (subject, text) => ({ subject, state: "fault", text });
/** Something without which a deployment fails, or the service does not work. */
export const missing: FindingOf = (subject, text) => ({ subject, state: "missing", text });
/** Something that the deployment would take from somebody else. `--skip-check` does not skip it. */
export const taken: FindingOf = (subject, text) => ({ subject, state: "taken", text });
