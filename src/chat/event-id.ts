/** FNV-1a: the check of a text's beginning can be carried on with what follows. It guards against mix-ups, not against attacks. */
const FNV_BASIS = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

const FORM = /^(\d{1,9})-([0-9a-z]{1,7})(-done)?$/;

/**
 * A position in an answer: the length of the text up to it, and a checksum of that text. It does not depend on how the
 * answer was cut into events, so that it can also be found in a stored answer.
 */
export interface Place {
  length: number;
  check: number;
}

export const BEGINNING: Place = { length: 0, check: FNV_BASIS };

/** The position after some more text. */
export function placeAfter({ length, check }: Place, text: string): Place {
  let hash = check;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME) >>> 0;
  return { length: length + text.length, check: hash };
}

/** The id of the event that ends at a position: `<length>-<check>`, with `-done` after the last event. */
export function eventIdOf({ length, check }: Place, isDone = false): string {
  return `${length}-${check.toString(36)}${isDone ? "-done" : ""}`;
}

/**
 * The position that an event id names in an answer.
 * @param text the answer, as far as it is known.
 * @returns undefined when the id does not fit this text: another run's, not reached yet, or malformed.
 */
export function placeIn(text: string, eventId: string | undefined): (Place & { isDone: boolean }) | undefined {
  const [, length, check, done] = FORM.exec(eventId ?? "") ?? [];
  if (length === undefined || Number(length) > text.length) return undefined;
  const place = placeAfter(BEGINNING, text.slice(0, Number(length)));
  const isDone = done !== undefined;
  if (place.check.toString(36) !== check || (isDone && place.length < text.length)) return undefined;
  return { ...place, isDone };
}
