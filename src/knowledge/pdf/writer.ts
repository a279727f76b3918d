import { joinedBytes } from "../../platform/read-stream.ts";
import { type PdfDict, PdfRef, type PdfValue, written } from "./values.ts";

/** Writes the objects of a PDF, one after another, and its cross-reference table. */
export class PdfWriter {
  private readonly parts: Uint8Array[] = [];
  private readonly entries: string[] = [];
  private length = 0;
  private last = 0;

  constructor() {
    this.write("%PDF-1.7\n");
  }

  /** A reference to an object that is written later. */
  next(): PdfRef {
    return new PdfRef(++this.last);
  }

  object(value: PdfValue, ref = this.next()): PdfRef {
    this.begin(ref);
    this.write(`${written(value)}\nendobj\n`);
    return ref;
  }

  stream(dict: PdfDict, bytes: Uint8Array, ref = this.next()): PdfRef {
    this.begin(ref);
    this.write(`${written(new Map([...dict, ["Length", bytes.length]]))}\nstream\n`);
    this.add(bytes);
    this.write("\nendstream\nendobj\n");
    return ref;
  }

  /** Ends the file. @returns its bytes. */
  end(trailer: PdfDict): Uint8Array<ArrayBuffer> {
    const start = this.length;
    this.write(`xref\n0 1\n0000000000 65535 f \n${this.entries.join("")}`);
    this.write(`trailer\n${written(new Map([...trailer, ["Size", this.last + 1]]))}\nstartxref\n${start}\n%%EOF`);
    return joinedBytes(this.parts);
  }

  private begin({ number, generation }: PdfRef): void {
    this.last = Math.max(this.last, number);
    this.entries.push(`${number} 1\n${digits(this.length, 10)} ${digits(generation, 5)} n \n`);
    this.write(`${number} ${generation} obj\n`);
  }

  private write(text: string): void {
    const bytes = new Uint8Array(text.length);
    for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
    this.add(bytes);
  }

  private add(bytes: Uint8Array): void {
    this.parts.push(bytes);
    this.length += bytes.length;
  }
}

function digits(value: number, count: number): string {
  return `${value}`.padStart(count, "0");
}
