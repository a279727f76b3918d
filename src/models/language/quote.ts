/**
 * Quotes what others wrote as data. The mark is random and made anew for each turn, so that no text can hold it: none
 * can end its own quotation, or begin another.
 */
export class Quotation {
  constructor(readonly mark: string = crypto.randomUUID()) {}

  /** @param label says what is quoted: a word of ours, with an id of ours. */
  quote(label: string, text: string): string {
    return `<<${label} ${this.mark}>>\n${text}\n<<end ${this.mark}>>`;
  }
}
