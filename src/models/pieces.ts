/** A text in one piece. */
export async function* only(text: string): AsyncGenerator<string, void> {
  yield text;
}

/** A text in its sentences, with the space behind each. */
export async function* sentencesOf(text: string, language: string): AsyncGenerator<string, void> {
  for (const { segment } of segmenterOf(language).segment(text)) yield segment;
}

function segmenterOf(language: string): Intl.Segmenter {
  const [known] = isTag(language) ? Intl.Segmenter.supportedLocalesOf(language) : [];
  return new Intl.Segmenter(known, { granularity: "sentence" });
}

function isTag(language: string): boolean {
  try {
    return Intl.getCanonicalLocales(language).length > 0;
  } catch {
    return false;
  }
}

/**
 * The same pieces, without empty ones, once there is a first. Unlike a generator it ends its source also where nobody began
 * to read it.
 * @throws Error when there is none; whatever the source throws before it.
 */
export async function opened(pieces: AsyncGenerator<string, void>): Promise<AsyncIterableIterator<string, void>> {
  const next = async (): Promise<IteratorResult<string, void>> => {
    let read = await pieces.next();
    while (!read.done && read.value === "") read = await pieces.next();
    return read;
  };
  let first: IteratorResult<string, void> | undefined = await next();
  if (first.done) throw new Error("The model wrote nothing");
  const iterator: AsyncIterableIterator<string, void> = {
    [Symbol.asyncIterator]: () => iterator,
    async next() {
      const read = first ?? (await next());
      first = undefined;
      return read;
    },
    async return() {
      await pieces.return();
      return { done: true, value: undefined };
    },
  };
  return iterator;
}
