/** Whether there is a way to reach the person who left a lead. */
export function isReachable({ email, phone }: { email?: string | null | undefined; phone?: string | null | undefined }): boolean {
  return Boolean(email?.trim() || phone?.trim());
}

/** An email as people are found by it: without regard to case. */
export function emailKeyOf(email: string | null | undefined): string | null {
  return email?.toLowerCase() ?? null;
}
