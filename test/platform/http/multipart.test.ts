import { expect, test } from "vitest";
import { FormFile, readForm } from "../../../src/platform/http/multipart.ts";

const BOUNDARY = "x".repeat(40);
const part = (headers: string, content: string) => `--${BOUNDARY}\r\nContent-Disposition: form-data; ${headers}\r\n\r\n${content}\r\n`;
const END = `--${BOUNDARY}--\r\n`;

/** The form as it is read, its body in pieces of so many bytes. */
async function read(body: string, { size = 7, maxFileBytes = 1_000, type = `multipart/form-data; boundary=${BOUNDARY}` } = {}) {
  const bytes = new TextEncoder().encode(body);
  const stream = new ReadableStream({
    type: "bytes",
    start(controller) {
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
      controller.close();
    },
  });
  const request = new Request("https://service.test", { method: "POST", headers: { "Content-Type": type }, body: stream });
  return readForm(request, { "x-max-file-bytes": maxFileBytes });
}

const FILE = 'name="file"; filename="a"';

/** A form with a boundary of this length. */
function bounded(length: number) {
  const boundary = "x".repeat(length);
  return { body: (part(FILE, "abc") + END).replaceAll(BOUNDARY, boundary), type: `multipart/form-data; boundary=${boundary}` };
}

test.for([1, 2, 3, 7, 44, 45, 64, 10_000])("fields and files come as they were sent, in pieces of %i bytes", async (size) => {
  const content = `a\r\n--${BOUNDARY.slice(1)}\r\n--b`;
  const file = 'name="file"; filename="C:\\\\docs\\\\a.txt"\r\nContent-Type: text/plain';
  const body = part('name="name"', "Handbuch für alle") + part(file, content) + part('name="metadata"', "{}") + END;
  const form = await read(body, { size });
  if (!form.ok) throw new Error(form.item.msg);
  const { file: received, ...fields } = form.value;
  expect(fields).toEqual({ name: "Handbuch für alle", metadata: "{}" });
  expect(received).toBeInstanceOf(FormFile);
  const { name, pieces } = received as FormFile;
  expect([name, await new Response(new Blob(pieces as Uint8Array<ArrayBuffer>[])).text()]).toEqual(["a.txt", content]);
});

test("the digest of a form depends on its content, not on its boundary", async () => {
  const digestOf = async (body: string, type?: string) => {
    const form = await read(body, type === undefined ? {} : { type });
    return form.ok && new TextDecoder().decode(form.digest);
  };
  const body = part(FILE, "abc") + END;
  const first = await digestOf(body);
  expect(await digestOf(body.replaceAll(BOUNDARY, "other"), "multipart/form-data; boundary=other")).toBe(first);
  expect(await digestOf(part(FILE, "abd") + END)).not.toBe(first);
});

const NO_FORM = "send the body as multipart/form-data, with its boundary in Content-Type";
const DAMAGED = "the form is damaged, or has too many parts";

test.for([
  ["no form", "{}", { type: "application/json" }, NO_FORM],
  ["without a boundary", "", { type: "multipart/form-data" }, NO_FORM],
  ["of a boundary that is longer than boundaries may be", bounded(71).body, bounded(71), NO_FORM],
  ["cut", part(FILE, "abc").slice(0, -1), {}, DAMAGED],
  ["without its end", part(FILE, "abc"), {}, DAMAGED],
  ["empty", "", {}, DAMAGED],
  ["of many parts", Array.from({ length: 21 }, (_, at) => part(`name="a${at}"`, "b")).join("") + END, { size: 64 }, DAMAGED],
] as const)("a form that is %s is refused", async ([, body, options, error]) => {
  const form = await read(body, options);
  expect(form).toMatchObject({ ok: false, item: { loc: ["body"], ctx: { error } } });
});

test("a form with the longest boundary is read", async () => {
  expect((await read(bounded(70).body, bounded(70))).ok).toBe(true);
});

test("a file of the largest size is read, and a larger one refused", async () => {
  const form = await read(part(FILE, "x".repeat(1_000)) + END, { size: 64 });
  expect(form.ok && (form.value["file"] as FormFile).size).toBe(1_000);
  await expect(read(part(FILE, "x".repeat(1_001)) + END, { size: 64 })).rejects.toMatchObject({ code: "payload_too_large" });
});

test("an endless body is not read far beyond the last boundary of its form", async () => {
  let pieces = 0;
  const pull = (controller: ReadableByteStreamController) =>
    controller.enqueue(pieces++ === 0 ? new TextEncoder().encode(part(FILE, "abc") + END) : new Uint8Array(1_000));
  const headers = { "Content-Type": `multipart/form-data; boundary=${BOUNDARY}` };
  const request = new Request("https://service.test", { method: "POST", headers, body: new ReadableStream({ type: "bytes", pull }) });
  expect((await readForm(request, { "x-max-file-bytes": 1_000 })).ok).toBe(true);
  expect(pieces).toBeLessThan(150);
});

test("two files are refused", async () => {
  const form = await read(part(FILE, "abc") + part(FILE, "def") + END);
  expect(form).toMatchObject({ ok: false, item: { loc: ["body", "file"], ctx: { error: "send one part of this name" } } });
});
