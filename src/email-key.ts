/** The form of an email by which a person is found: an address is theirs in any case of its letters. */
export function emailKeyOf(email: string): string {
  return email.toLowerCase();
}
