/** FNV-1a: the check of a text's beginning can be carried on with what follows. It guards against mix-ups, not against attacks. */
const FNV_BASIS = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

const FORM = /^(\d{1,9})-([0-9a-z]{1,7})(-done)?$/;

/**
 * A place in an answer: how much of its text was said, and a check of it. Both follow from the text alone, so that a place
 * means the same however the answer was cut into pieces, and can be found again in an answer that comes from storage.
 */
export interface Place {
  length: number;
  check: number;
}

export const BEGINNING: Place = { length: 0, check: FNV_BASIS };

/** The place that comes after some more text. */
export function placeAfter({ length, check }: Place, text: string): Place {
  let hash = check;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME) >>> 0;
  return { length: length + text.length, check: hash };
}

/** The id of the event after which a stream is at that place: `<length>-<check>`, and `-done` after the last one. */
export function eventIdOf({ length, check }: Place, isDone = false): string {
  return `${length}-${check.toString(36)}${isDone ? "-done" : ""}`;
}

/**
 * The place that an id means in an answer.
 * @param text the answer, as far as it is known.
 * @returns undefined where the id is none of this text: it is another run's, not yet reached, or no id at all.
 */
export function placeIn(text: string, eventId: string | undefined): (Place & { isDone: boolean }) | undefined {
  const [, length, check, done] = FORM.exec(eventId ?? "") ?? [];
  if (length === undefined || Number(length) > text.length) return undefined;
  const place = placeAfter(BEGINNING, text.slice(0, Number(length)));
  const isDone = done !== undefined;
  if (place.check.toString(36) !== check || (isDone && place.length < text.length)) return undefined;
  return { ...place, isDone };
}
