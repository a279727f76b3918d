/**
 * Adds records to the checksum of a workspace: the SHA-256 of each line, all combined by exclusive or, so that the order
 * does not count. No record comes twice, since each holds its key.
 * @param checksum 64 hexadecimal digits.
 */
export async function addLines(checksum: string, lines: readonly string[]): Promise<string> {
  const sum = Uint8Array.fromHex(checksum);
  const encoder = new TextEncoder();
  for (const digest of await Promise.all(lines.map((line) => crypto.subtle.digest("SHA-256", encoder.encode(line))))) {
    for (const [at, byte] of new Uint8Array(digest).entries()) sum[at]! ^= byte;
  }
  return sum.toHex();
}
