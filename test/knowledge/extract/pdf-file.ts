/** A line of text on a page of a PDF, `y` points above its lower edge. */
export interface PdfTextLine {
  text: string;
  y: number;
  size?: number;
}

export interface PdfFile {
  pages: PdfTextLine[][];
  title?: string;
  /** Asks for a password that no one has. */
  encrypted?: boolean;
  /** Replaces the content of the first page: its dictionary without `/Length`, and its bytes. */
  content?: { dictionary: string; bytes: Uint8Array };
}

/** The bytes of a PDF, written by hand: a catalogue, pages with one font, a cross-reference table. */
export function pdfFile({ pages, title, encrypted, content }: PdfFile): Uint8Array {
  const writer = new PdfWriter();
  const kids = pages.map((_, at) => `${4 + 2 * at} 0 R`).join(" ");
  writer.object("<< /Type /Catalog /Pages 2 0 R >>");
  writer.object(`<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`);
  writer.object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>");
  pages.forEach((lines, at) => {
    writer.object(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${5 + 2 * at} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`,
    );
    if (at === 0 && content) writer.stream(content.dictionary, content.bytes);
    else writer.stream("", new TextEncoder().encode(operators(lines)));
  });
  const info = title === undefined ? "" : `/Info ${writer.object(`<< /Title (${title}) >>`)} 0 R`;
  const key = `<${"ab".repeat(32)}>`;
  const encrypt = encrypted
    ? `/Encrypt ${writer.object(`<< /Filter /Standard /V 1 /R 2 /O ${key} /U ${key} /P -4 >>`)} 0 R /ID [<00> <00>]`
    : "";
  return writer.end(`/Root 1 0 R ${info} ${encrypt}`);
}

function operators(lines: PdfTextLine[]): string {
  const shown = lines.map(
    ({ text, y, size = 10 }) => `/F1 ${size} Tf 1 0 0 1 72 ${y} Tm (${text.replace(/[\\()]/g, "\\$&").replaceAll("•", "\\225")}) Tj`,
  );
  return `BT ${shown.join("\n")} ET`;
}

/** A stream of a PDF: its dictionary without `/Length`, and its bytes. */
export interface PdfStreamObject {
  dictionary: string;
  bytes: Uint8Array | string;
}

/** The bytes of a PDF with these objects, numbered from 1. The first one is the catalogue. */
export function pdfOf(objects: readonly (string | PdfStreamObject)[], trailer = ""): Uint8Array<ArrayBuffer> {
  const writer = new PdfWriter();
  for (const object of objects) {
    if (typeof object === "string") writer.object(object);
    else writer.stream(object.dictionary, typeof object.bytes === "string" ? new TextEncoder().encode(object.bytes) : object.bytes);
  }
  return writer.end(`/Root 1 0 R ${trailer}`);
}

/** Writes the objects of a PDF one after the other, and then their cross-reference table. */
export class PdfWriter {
  private readonly parts: Uint8Array[] = [];
  private readonly offsets: number[] = [];
  private length = 0;

  constructor() {
    this.write("%PDF-1.4\n");
  }

  /** The number that the next object gets. */
  get nextObject(): number {
    return this.offsets.length + 1;
  }

  /** Writes an object, and returns its number. */
  object(body: string): number {
    this.begin();
    this.write(`${body}\nendobj\n`);
    return this.offsets.length;
  }

  /** Writes a stream with a dictionary without its `/Length`, and returns its number. */
  stream(dictionary: string, bytes: Uint8Array): number {
    this.begin();
    this.write(`<< ${dictionary} /Length ${bytes.length} >>\nstream\n`);
    this.push(bytes);
    this.write("\nendstream\nendobj\n");
    return this.offsets.length;
  }

  /** Writes the table and the trailer, and returns the file. */
  end(trailer: string): Uint8Array<ArrayBuffer> {
    const from = this.length;
    const rows = this.offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
    const count = this.offsets.length + 1;
    this.write(`xref\n0 ${count}\n0000000000 65535 f \n${rows}trailer << /Size ${count} ${trailer} >>\nstartxref\n${from}\n%%EOF`);
    const all = new Uint8Array(this.length);
    let at = 0;
    for (const part of this.parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  }

  private begin(): void {
    this.offsets.push(this.length);
    this.write(`${this.offsets.length} 0 obj\n`);
  }

  private write(text: string): void {
    this.push(new TextEncoder().encode(text));
  }

  private push(bytes: Uint8Array): void {
    this.parts.push(bytes);
    this.length += bytes.length;
  }
}
