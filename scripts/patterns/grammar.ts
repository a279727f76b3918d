/** A part of a regular expression, as far as what it matches is concerned. */
export type Part =
  /** One character: a literal, an escape, a class or a dot, as it is written. */
  | { type: "char"; source: string }
  | { type: "sequence"; items: Part[] }
  | { type: "choice"; options: Part[] }
  | { type: "repeat"; item: Part; min: number; max: number }
  /** Looks without taking: anchors have nothing inside. */
  | { type: "look"; item: Part }
  | { type: "back"; group: Part };

const NOTHING: Part = { type: "sequence", items: [] };
/** Characters of a class may be nested where the flag is `v`; no pattern of this project needs it. */
const CLASS = /\[\^?(?:\\[^]|[^\]\\])*\]/y;
const ESCAPE = /\\(?:[pP]\{[^}]*\}|u\{[\da-fA-F]+\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|c[A-Za-z]|[^])/y;
const BACK = /\\(?:([1-9]\d*)|k<([^>]*)>)/y;
const ANCHOR = /[\^$]|\\[bB]/y;
const OPENING = /\((?:\?(?:(<?[=!])|<([^>]*)>|[a-z]*(?:-[a-z]+)?:))?/y;
const QUANTIFIER = /(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/y;

/** Reads the source of a regular expression that the engine has accepted. */
export function parsePattern(source: string, flags: string): Part {
  return new Reader(source, flags.includes("u") || flags.includes("v")).choice();
}

class Reader {
  private at = 0;
  private readonly groups: Part[] = [];
  private readonly named = new Map<string, Part>();
  private readonly source: string;
  private readonly isUnicode: boolean;

  constructor(source: string, isUnicode: boolean) {
    this.source = source;
    this.isUnicode = isUnicode;
  }

  choice(): Part {
    const options = [this.sequence()];
    while (this.take(/\|/y)) options.push(this.sequence());
    return options.length === 1 ? options[0]! : { type: "choice", options };
  }

  private sequence(): Part {
    const items: Part[] = [];
    while (this.at < this.source.length && !/[|)]/.test(this.source[this.at]!)) items.push(this.quantified(this.atom()));
    return { type: "sequence", items };
  }

  private quantified(item: Part): Part {
    const found = this.take(QUANTIFIER);
    if (!found) return item;
    const [, sign, min, comma, max] = found;
    if (sign) return { type: "repeat", item, min: sign === "+" ? 1 : 0, max: sign === "?" ? 1 : Infinity };
    return { type: "repeat", item, min: Number(min), max: comma ? Number(max || Infinity) : Number(min) };
  }

  private atom(): Part {
    if (this.take(ANCHOR)) return { type: "look", item: NOTHING };
    const back = this.take(BACK);
    if (back) return { type: "back", group: (back[1] ? this.groups[Number(back[1]) - 1] : this.named.get(back[2]!)) ?? NOTHING };
    const opening = this.take(OPENING);
    if (opening) return this.group(opening);
    const [source] = this.take(CLASS) ?? this.take(ESCAPE) ?? this.take(this.isUnicode ? /[^]/uy : /[^]/y)!;
    return { type: "char", source };
  }

  private group([all, look, name]: RegExpExecArray): Part {
    const number = all === "(" || name !== undefined ? this.groups.push(NOTHING) : 0;
    const item = this.choice();
    this.take(/\)/y);
    if (look) return { type: "look", item };
    if (number > 0) this.groups[number - 1] = item;
    if (name !== undefined) this.named.set(name, item);
    return item;
  }

  private take(what: RegExp): RegExpExecArray | null {
    what.lastIndex = this.at;
    const found = what.exec(this.source);
    if (found) this.at += found[0].length;
    return found;
  }
}
