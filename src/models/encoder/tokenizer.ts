/*
 * WordPiece, as BERT's uncased models use it (Devlin et al. 2018): a word that the vocabulary lacks is split into the longest pieces
 * that it has, of which all but the first begin with "##".
 */

/** A longer word is unknown as a whole. */
const MAX_WORD_LENGTH = 100;
const CONTINUES = "##";
const ACCENT = /\p{Mn}/gu;
const CONTROL = /[^\P{C}\t\n\r]|\uFFFD/gu;
/** Ideographs are words of their own: the blocks that BERT's tokenizer names. */
const IDEOGRAPH =
  /[\u4E00-\u9FFF\u3400-\u4DBF\uF900-\uFAFF\u{20000}-\u{2A6DF}\u{2A700}-\u{2B73F}\u{2B740}-\u{2B81F}\u{2B820}-\u{2CEAF}\u{2F800}-\u{2FA1F}]/gu;
/** A punctuation mark, including all those of ASCII, or a word. */
const WORD = /[\p{P}$+<=>^`|~]|[^\s\p{P}$+<=>^`|~]+/gu;

export class Tokenizer {
  private readonly ids = new Map<string, number>();
  private readonly unknown: number;
  private readonly first: number;
  private readonly last: number;

  /** @param vocabulary the pieces, one a line, whose ids are the numbers of their lines. */
  constructor(vocabulary: string) {
    for (const piece of vocabulary.split("\n")) this.ids.set(piece, this.ids.size);
    [this.unknown, this.first, this.last] = ["[UNK]", "[CLS]", "[SEP]"].map((piece) => this.ids.get(piece)!) as [number, number, number];
  }

  /**
   * Returns the ids of a text's pieces between those of start and end, at most `limit` in all, and the lower-case word of each piece. The
   * word of start and end is empty.
   */
  tokenize(text: string, limit: number): { tokens: number[]; words: string[] } {
    const tokens = [this.first];
    const words = [""];
    const plain = text.replace(CONTROL, "").replace(IDEOGRAPH, " $& ").normalize("NFD").replace(ACCENT, "").toLowerCase();
    for (const [word] of plain.matchAll(WORD)) {
      const pieces = this.piecesOf(word);
      tokens.push(...pieces);
      words.push(...pieces.map(() => word));
      if (tokens.length >= limit) break;
    }
    return { tokens: [...tokens.slice(0, limit - 1), this.last], words: [...words.slice(0, limit - 1), ""] };
  }

  private piecesOf(word: string): number[] {
    if (word.length > MAX_WORD_LENGTH) return [this.unknown];
    const pieces: number[] = [];
    for (let start = 0; start < word.length;) {
      let end = word.length;
      let id: number | undefined;
      for (; end > start && id === undefined; end--) id = this.ids.get((start > 0 ? CONTINUES : "") + word.slice(start, end));
      if (id === undefined) return [this.unknown];
      pieces.push(id);
      start = end + 1;
    }
    return pieces;
  }
}
