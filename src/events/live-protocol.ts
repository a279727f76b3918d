/*
 * What the live channel and the console's pages tell each other. Both import this module, which imports nothing.
 */

/** The kinds of records whose changes are told. */
export const CHANGE_KINDS = ["conversation", "evaluation", "lead", "source"] as const;

/** A record that was created or changed. Pages that show it read it again with their own key. */
export interface Change {
  kind: (typeof CHANGE_KINDS)[number];
  /** The id of the record. Within a page, `*` stands for all records of the kind: the page may have missed a change. */
  id: string;
}

/** The code of a socket that the service closes because it may not stay open (RFC 6455, section 7.4.1). */
export const POLICY_VIOLATION = 1008;

/** The reason with which a socket is closed whose session has ended. */
export const SESSION_ENDED = "The session has ended.";

/** The reason with which a socket is closed whose page is to open another one. */
export const CONNECT_AGAIN = "Connect again.";
