/** A name of the API in words: `messages_per_conversation` is Messages per conversation. */
export function labelOf(name: string): string {
  const words = name.replaceAll("_", " ").replace(/\b(?:mb|api|ai|csat)\b/g, (word) => word.toUpperCase());
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}
