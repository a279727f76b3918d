/** The first `length` UTF-16 units of a text, without half a character at its end. */
export function firstOf(text: string, length: number): string {
  return text.length <= length ? text : text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "");
}
