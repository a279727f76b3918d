import { expect, test } from "vitest";
import { sendMail } from "../../src/email/outbound.ts";
import { fileForm, PNG, query, send } from "../harness.ts";
import { conversations, createMailbox, mailService, outbox, receive } from "./mailbox.ts";

/** A part of a mail with a file in base64. */
function filePart(name: string, bytes: Uint8Array, headers = `Content-Disposition: attachment; filename="${name}"`): string {
  const lines = bytes.toBase64().match(/.{1,76}/g) ?? [];
  return `--b\r\nContent-Type: application/octet-stream; name="${name}"\r\n${headers}\r\nContent-Transfer-Encoding: base64\r\n\r\n${lines.join("\r\n")}\r\n`;
}

const textOf = (text: string) => new TextEncoder().encode(text);

function mailWith(...parts: string[]): string {
  const text = "--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nSee the files.\r\n";
  return ['Content-Type: multipart/mixed; boundary="b"\r\n', text + parts.join("") + "--b--\r\n"].join("\r\n");
}

test("the files of a mail are attachments by their bytes, and others are left out with a note", async () => {
  const mailbox = await createMailbox();
  const large = new Uint8Array(2_000_000);
  large.set(PNG);
  const raw = mailWith(
    filePart("=?utf-8?B?w7wucG5n?=", large),
    filePart("run.exe", textOf("MZ\0\x01")),
    filePart("page.html", textOf("<!doctype html>")),
    filePart("logo.png", PNG, "Content-Disposition: inline\r\nContent-ID: <logo@example.net>"),
    filePart("notes.txt", textOf("Hello")),
  );
  expect(await receive({ to: mailbox.address, raw })).toBeUndefined();
  const [conversation] = await conversations(mailbox);
  const [question] = conversation.messages;
  expect(question.attachments.map(({ name, type, size }: any) => [name, type, size])).toEqual([
    ["ü.png", "image/png", 2_000_000],
    ["notes.txt", "text/plain", 5],
  ]);
  expect(question.content).toContain("See the files.");
  for (const name of ["run.exe", "page.html"]) expect(question.content).toContain(`[Attachment left out: ${name}]`);
  expect(question.content).not.toContain("notes.txt");
  const served = await send("GET", new URL(question.attachments[1].url).pathname);
  expect(served.body).toBe("Hello");
  // Five files a mail.
  await receive({
    to: mailbox.address,
    subject: "Many",
    raw: mailWith(...Array.from({ length: 7 }, (_, at) => filePart(`${at}.txt`, textOf("x")))),
  });
  const [second] = await conversations(mailbox);
  expect(second.messages[0].attachments).toHaveLength(5);
  expect(second.messages[0].content).toContain("[Attachment left out: 6.txt]");
});

test("a screenshot within the text of a mail is an attachment, and the logo of a signature is left out", async () => {
  const mailbox = await createMailbox();
  const screenshot = new Uint8Array(60_000);
  screenshot.set(PNG);
  const inline = (name: string, bytes: Uint8Array) =>
    filePart(name, bytes, `Content-Disposition: inline; filename="${name}"\r\nContent-ID: <${name}@example.net>`);
  const parts = [inline("screen.png", screenshot), inline("logo.png", PNG), inline("screen.bmp", new Uint8Array(60_000))];
  await receive({ to: mailbox.address, raw: mailWith(...parts).replace("multipart/mixed", "multipart/related") });
  const [conversation] = await conversations(mailbox);
  const [question] = conversation.messages;
  expect(question.attachments.map(({ name, size }: any) => [name, size])).toEqual([["screen.png", 60_000]]);
  expect(question.content).toBe("See the files.\n[Attachment left out: screen.bmp]");
});

test("a mail that is delivered twice is one message with its files", async () => {
  const mailbox = await createMailbox();
  const mail = { to: mailbox.address, headers: { "Message-ID": "<twice@example.net>" }, raw: mailWith(filePart("a.txt", textOf("A"))) };
  await receive(mail);
  await receive(mail);
  const all = await conversations(mailbox);
  expect(all.flatMap(({ messages }) => messages).flatMap(({ attachments }) => attachments)).toHaveLength(1);
  const left = "SELECT id FROM attachments WHERE workspace_id = ? AND message_id IS NULL AND expires_at IS NULL";
  expect(await query(mailbox.workspace.id, left, mailbox.workspace.id)).toEqual([]);
});

test("a reply's files are sent with its mail, as far as a mail can carry them", async () => {
  const mailbox = await createMailbox();
  const { workspace } = mailbox;
  await receive({ to: mailbox.address });
  const [{ id }] = await conversations(mailbox);
  const large = new Uint8Array(9 * 1024 * 1024);
  large.set(PNG);
  const upload = async (content: string | Uint8Array<ArrayBuffer>, name: string) =>
    (await workspace.call("POST", "/attachments", fileForm(content, {}, name))).body.id;
  const attachments = [await upload("%PDF-1.7", "invoice.pdf"), await upload(large, "one.png"), await upload(large, "two.png")];
  await workspace.call("POST", `/conversations/${id}/messages`, { content: "Your invoice.", attachments });
  const { mails, environment } = mailService();
  for (const row of await outbox(mailbox)) await sendMail(environment, { messageId: row.message_id });
  const mail = mails.find(({ text }) => text!.startsWith("Your invoice."))!;
  expect(mail.text).toBe("Your invoice.\n[Attachment left out: two.png]\n");
  expect(mail.attachments!.map(({ filename, type, disposition }) => [filename, type, disposition])).toEqual([
    ["invoice.pdf", "application/pdf", "attachment"],
    ["one.png", "image/png", "attachment"],
  ]);
  expect(new TextDecoder().decode(mail.attachments![0]!.content as Uint8Array)).toBe("%PDF-1.7");
});
