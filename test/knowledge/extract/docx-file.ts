import { strToU8, zipSync } from "fflate";

/** A paragraph of a Word document. @param properties the content of its `w:pPr`. */
export function paragraph(text: string, properties = ""): string {
  return `<w:p><w:pPr>${properties}</w:pPr><w:r><w:t xml:space="preserve">${text}</w:t></w:r></w:p>`;
}

const NAMESPACE = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"';
const xml = (root: string, content: string) =>
  `<?xml version="1.0" encoding="UTF-8" standalone="yes"?><w:${root} ${NAMESPACE}>${content}</w:${root}>`;

/** The styles that a German Word writes: their ids are translated, their names are not. */
const STYLES = `
<w:style w:type="paragraph" w:styleId="Titel"><w:name w:val="Title"/></w:style>
<w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/><w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style>
<w:style w:type="paragraph" w:styleId="Eigene"><w:name w:val="Mine"/><w:basedOn w:val="berschrift2"/></w:style>
<w:style w:type="paragraph" w:styleId="Verzeichnis1"><w:name w:val="toc 1"/></w:style>
<w:style w:type="paragraph" w:styleId="Loop"><w:name w:val="Loop"/><w:basedOn w:val="Loop"/></w:style>
<w:style w:type="paragraph" w:styleId="Aufzhlung"><w:name w:val="List Bullet"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>`;

const level = (at: number, format: string) => `<w:lvl w:ilvl="${at}"><w:numFmt w:val="${format}"/></w:lvl>`;
const NUMBERING = `
<w:abstractNum w:abstractNumId="7">${level(0, "bullet")}${level(1, "bullet")}</w:abstractNum>
<w:abstractNum w:abstractNumId="8">${level(0, "decimal")}${level(1, "lowerLetter")}</w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>
<w:num w:numId="2"><w:abstractNumId w:val="8"/></w:num>`;

/** The bytes of a Word document with this body. */
export function docx(body: string, files: Record<string, Uint8Array> = {}): Uint8Array<ArrayBuffer> {
  return zipSync({
    "[Content_Types].xml": strToU8("<Types/>"),
    "word/document.xml": strToU8(xml("document", `<w:body>${body}</w:body>`)),
    "word/styles.xml": strToU8(xml("styles", STYLES)),
    "word/numbering.xml": strToU8(xml("numbering", NUMBERING)),
    ...files,
  });
}
