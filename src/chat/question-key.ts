/** Longer questions are the same when they begin the same: it bounds what is kept of each. */
const MAX_KEY_CHARACTERS = 200;

/** What makes two questions the same to analytics: their letters and digits, without case and punctuation. */
export function questionKeyOf(question: string): string {
  const plain = question.normalize("NFKC").toLowerCase();
  const words = plain.replace(/[^\p{L}\p{M}\p{N}]+/gu, " ").trim();
  // A question of signs alone, "???" or an emoji, is itself.
  return Array.from(words || plain.trim())
    .slice(0, MAX_KEY_CHARACTERS)
    .join("");
}
