import { type Handler, Parser } from "htmlparser2";

/** Each end tag searches the open elements, so that their number multiplies the time that a document takes. */
const MAX_OPEN_ELEMENTS = 1_000;

/**
 * A parser of XML, which knows no entities but XML's own. It throws where elements are nested deeper than anyone writes them.
 */
export function xmlParser(handler: Pick<Handler, "onopentag"> & Partial<Handler>): Parser {
  let depth = 0;
  return new Parser(
    {
      onopentag(name, attribs, isImplied) {
        if (++depth > MAX_OPEN_ELEMENTS) throw new Error("The XML is nested too deeply");
        handler.onopentag(name, attribs, isImplied);
      },
      ontext: (text) => handler.ontext?.(text),
      onclosetag(name, isImplied) {
        depth--;
        handler.onclosetag?.(name, isImplied);
      },
    },
    { xmlMode: true },
  );
}
