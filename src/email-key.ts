/** The form of an email by which a person is found: an address is theirs in any case of its letters. */
export function emailKeyOf(email: string): string {
  return email.toLowerCase();
}

const WRITER = "email:";

/** By what a person is known of whom there is a mail and nothing else. */
export function anonIdOf(email: string): string {
  return WRITER + emailKeyOf(email);
}

/** The address by which such a person is known; undefined for others. */
export function addressIn(anonId: string): string | undefined {
  return anonId.startsWith(WRITER) ? emailKeyOf(anonId.slice(WRITER.length)) : undefined;
}
