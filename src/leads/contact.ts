/** Whether there is a way to reach the person who left a lead. */
export function isReachable({ email, phone }: { email?: string | null | undefined; phone?: string | null | undefined }): boolean {
  return Boolean(email?.trim() || phone?.trim());
}
