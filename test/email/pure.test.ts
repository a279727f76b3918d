import PostalMime from "postal-mime";
import { describe, expect, test } from "vitest";
import { mintThreadToken, recipientsOf, verifyThreadToken, replyAddress, threadId, tokensOf } from "../../src/email/address.ts";
import { ignoreReason } from "../../src/email/inbound.ts";
import { composeMail } from "../../src/email/outbound.ts";
import { parseMail, questionOf, subjectOf, textOfHtml, visibleText } from "../../src/email/parse.ts";
import { mime } from "./mailbox.ts";

const CONVERSATION = "019a9f00-1234-7abc-8def-0123456789ab";

describe("addresses", () => {
  test.each([
    ["Support@Example.COM", [["support@example.com", null]]],
    [
      "support+abc@example.com",
      [
        ["support+abc@example.com", null],
        ["support@example.com", "abc"],
      ],
    ],
    [
      "support+a+b@example.com",
      [
        ["support+a+b@example.com", null],
        ["support+a@example.com", "b"],
        ["support@example.com", "a+b"],
      ],
    ],
    ["+x@example.com", [["+x@example.com", null]]],
    ["nobody", []],
    ["a b@example.com", []],
  ])("%s", (address, read) => expect(recipientsOf(address).map(({ mailbox, tag }) => [mailbox, tag])).toEqual(read));

  test("a token names its conversation under each secret in use and no other", async () => {
    const token = await mintThreadToken(CONVERSATION, "old");
    expect(token).toMatch(/^[a-z2-7]{42}$/);
    expect(await verifyThreadToken(token, ["new", "old"])).toBe(CONVERSATION);
    expect(await verifyThreadToken(token, ["new"])).toBeUndefined();
    for (const at of [0, 20, 41]) {
      const changed = token.slice(0, at) + (token[at] === "a" ? "b" : "a") + token.slice(at + 1);
      expect(await verifyThreadToken(changed, ["old"]), `letter ${at}`).toBeUndefined();
    }
  });

  test("a token is found in the address and in the ids that a mail replies to", async () => {
    const token = await mintThreadToken(CONVERSATION, "secret");
    expect(tokensOf(token, undefined, undefined)).toEqual([token]);
    expect(tokensOf("newsletter", "<1@x>", `<2@x> ${threadId("help@example.com", token)} <3@x>`)).toEqual([token]);
    expect(tokensOf(null, `<t.${token.slice(1)}@example.com>`, undefined)).toEqual([]);
  });

  test("a mailbox too long for the token gets no reply address", () => {
    const token = "a".repeat(42);
    expect(replyAddress("support@example.com", token)).toBe(`support+${token}@example.com`);
    expect(replyAddress(`${"s".repeat(22)}@example.com`, token)).toBeNull();
  });
});

describe("mails without an answer", () => {
  const parse = (headers: Record<string, string>, from?: string, raw?: string) =>
    PostalMime.parse(mime({ to: "help@example.com", headers, ...(from && { from }), ...(raw && { raw }) }));

  test("a person's mail is answered", async () => {
    expect(ignoreReason(await parse({ "Auto-Submitted": "no" }), "ada@example.net", "help@example.com")).toBeUndefined();
  });

  test.each([
    { reason: "bounce", headers: {}, envelope: "", from: undefined },
    { reason: "bounce", headers: {}, envelope: "<>", from: undefined },
    { reason: "auto_submitted", headers: { "Auto-Submitted": "auto-replied" }, envelope: "ada@example.net", from: undefined },
    { reason: "auto_submitted", headers: { "Auto-Submitted": "auto-generated; x=y" }, envelope: "ada@example.net", from: undefined },
    { reason: "precedence", headers: { Precedence: "bulk" }, envelope: "ada@example.net", from: undefined },
    { reason: "precedence", headers: { Precedence: "auto_reply" }, envelope: "ada@example.net", from: undefined },
    { reason: "list", headers: { "List-Id": "<news.example.net>" }, envelope: "ada@example.net", from: undefined },
    { reason: "list", headers: { "List-Unsubscribe": "<https://example.net>" }, envelope: "ada@example.net", from: undefined },
    { reason: "list", headers: { "X-Autoreply": "yes" }, envelope: "ada@example.net", from: undefined },
    { reason: "robot_sender", headers: {}, envelope: "ada@example.net", from: "MAILER-DAEMON@example.net" },
    { reason: "robot_sender", headers: {}, envelope: "ada@example.net", from: "No Reply <no-reply@example.net>" },
    { reason: "robot_sender", headers: {}, envelope: "bounces+17@example.net", from: undefined },
    { reason: "loop", headers: {}, envelope: "ada@example.net", from: "Help <Help@Example.com>" },
    { reason: "loop", headers: {}, envelope: "help@example.com", from: undefined },
    { reason: "no_sender", headers: {}, envelope: "ada@example.net", from: "nobody" },
    { reason: "no_sender", headers: {}, envelope: "ada@example.net", from: "Ada <ada@example.net, eve@example.com>" },
    { reason: "no_sender", headers: {}, envelope: "ada@example.net", from: '"ada,eve"@example.com' },
    { reason: "no_sender", headers: {}, envelope: "ada@example.net", from: "ada@example.net/.evil.example" },
  ])("$reason: $headers from $envelope, $from", async ({ reason, headers, envelope, from }) => {
    expect(ignoreReason(await parse(headers, from), envelope, "help@example.com")).toBe(reason);
  });

  test("a delivery report", async () => {
    const raw = 'Content-Type: multipart/report; report-type=delivery-status; boundary="b"\r\n\r\n--b\r\n\r\nfailed\r\n--b--\r\n';
    expect(ignoreReason(await parse({}, undefined, raw), "ada@example.net", "help@example.com")).toBe("report");
  });

  test.each(["norbert@example.net", "noreen@example.net", "abuser@example.net"])("a person's mail from %s is answered", async (address) => {
    expect(ignoreReason(await parse({}, address), address, "help@example.com")).toBeUndefined();
  });

  test("a person's mail with a feedback id of the provider is answered", async () => {
    expect(ignoreReason(await parse({ "Feedback-ID": "1:user:provider" }), "ada@example.net", "help@example.com")).toBeUndefined();
  });

  test("a person's mail that Microsoft's servers forwarded is answered", async () => {
    expect(ignoreReason(await parse({}), "bounces+SRS=Hn=C7@example.net", "help@example.com")).toBeUndefined();
  });
});

describe("the new text of a mail", () => {
  test.each([
    ["nothing but text", "Hello,\n\nwhere is it?", "Hello,\n\nwhere is it?"],
    ["Gmail", "It is blue.\n\nOn Tue, Nov 3, 2026 at 9:00 AM Help <help@example.com> wrote:\n> Which colour?\n", "It is blue."],
    ["a wrapped attribution", "Blue.\n\nOn Tue, Nov 3, 2026 at 9:00 AM Help Desk of Example\n<help@example.com> wrote:\n> Which?", "Blue."],
    ["Spanish", "Azul.\n\nEl mar, 3 nov 2026 a las 9:00, Help <help@example.com> escribió:\n> ¿Cuál?", "Azul."],
    ["Polish", "Niebieski.\n\nW dniu 3.11.2026 o 9:00 Help napisał:\n> Jaki?", "Niebieski."],
    ["Russian", "Синий.\n\nвт, 3 нояб. 2026 г. в 9:00, Help <help@example.com> пишет:\n> Какой?", "Синий."],
    ["German", "Blau.\n\nAm 03.11.2026 um 09:00 schrieb Help <help@example.com>:\n> Welche?", "Blau."],
    ["French", "Bleu.\n\nLe mar. 3 nov. 2026 à 09:00, Help <help@example.com> a écrit :\n> Quelle ?", "Bleu."],
    ["Outlook", "Blue.\n\nFrom: Help <help@example.com>\nSent: Tuesday, November 3, 2026\nTo: Ada\nSubject: Re: x\n\nWhich?", "Blue."],
    ["Outlook's line", "Blue.\n\n-----Original Message-----\nWhich?", "Blue."],
    ["a signature", "Blue.\n\n-- \nAda Lovelace\nAnalyst", "Blue."],
    ["a telephone", "Blue.\n\nSent from my iPhone", "Blue."],
    ["answers between quotes", "> Which colour?\nBlue.\n> Which size?\nSmall.", "Blue.\nSmall."],
    [
      "answers between quotes below an attribution",
      "See below.\n\nOn Tue, 3 Mar 2026 at 10:00, Help\n<help@example.com> wrote:\n\n> Which colour?\nBlue.\n> Which size?\nSmall.",
      "See below.\n\nBlue.\nSmall.",
    ],
    [
      "answers between quotes below the line of a telephone",
      "See below.\n\nSent from my iPhone\n\n> On 3 Mar 2026, at 10:00, Help wrote:\n>\n> Which colour?\nBlue.\n> Which size?\nSmall.",
      "See below.\n\nBlue.\nSmall.",
    ],
    [
      "a history below the line of a telephone",
      "Blue.\n\nGet Outlook for iOS\n________________________________\nFrom: Help\nWhich?",
      "Blue.",
    ],
    [
      "a history of several quoted mails",
      "Blue.\n\nOn Tue, 3 Mar 2026 at 10:00, Help wrote:\n> Which?\n>\n> On Mon, 2 Mar 2026 at 9:00, Ada wrote:\n>> A pen.\n",
      "Blue.",
    ],
    ["an attribution whose history is not marked", "Blue.\n\nOn Tue, 3 Mar 2026 at 10:00, Help wrote:\n\nWhich colour?", "Blue."],
    [
      "a paragraph above an attribution",
      "Bonjour,\n\nLe colis.\n\nLe 3 nov. 2026 à 09:00, Help a écrit :\n> Quoi ?",
      "Bonjour,\n\nLe colis.",
    ],
    ["an attribution without a time, at the end", "Blue.\n\nOn Tuesday Help wrote:\n", "Blue."],
    [
      "a sentence like an attribution",
      "Hello,\n\nOn 2 March you wrote:\nit is paid. It is not.",
      "Hello,\n\nOn 2 March you wrote:\nit is paid. It is not.",
    ],
    ["a German sentence", "Hallo,\n\nAm Montag hat sie geschrieben:\n\nEs kommt.", "Hallo,\n\nAm Montag hat sie geschrieben:\n\nEs kommt."],
    ["only quotes", "> Which colour?", "> Which colour?"],
    ["words that only look like a mark", "On Monday I wrote:\n\nFrom: here it fails", "On Monday I wrote:\n\nFrom: here it fails"],
  ])("%s", (_, text, visible) => expect(visibleText(text)).toBe(visible));

  test("of HTML, without styles, scripts and the history", () => {
    const html = `<html><head><title>x</title><style>p{}</style></head><body><p>It&nbsp;is <b>blue</b> &amp; small.</p>
      <ul><li>one</li><li>two</li></ul><script>alert(1)</script><div class="gmail_quote">old <div>older</div></div><p>Bye</p></body></html>`;
    expect(textOfHtml(html)).toBe("It is blue & small.\n\n- one\n\n- two\n\nBye");
  });

  const ATTRIBUTION = "On Tue, Nov 3, 2026 at 9:00 AM Help &lt;help@example.com&gt; wrote:";
  const ANSWERS = "<blockquote>Which <div>colour?</div></blockquote>Blue.<blockquote>Which size?</blockquote><p>Small.</p>";
  test.each([
    ["below an attribution", `<p>See below.</p><p>${ATTRIBUTION}</p>${ANSWERS}`, "See below.\n\nBlue.\n\nSmall."],
    ["below an attribution without a time", `See below.<div>On Tuesday Help wrote:</div>${ANSWERS}`, "See below.\n\nBlue.\n\nSmall."],
    [
      "in Gmail's element for quotes",
      `See below.<div class="gmail_quote"><div class="gmail_attr">${ATTRIBUTION}</div>${ANSWERS}</div>`,
      "See below.\nBlue.\n\nSmall.",
    ],
  ])("of HTML with answers between quotes %s", (_, html, visible) => expect(visibleText(textOfHtml(html))).toBe(visible));

  test.each([
    ["below an attribution", `<p>Blue.</p><p>${ATTRIBUTION}</p><blockquote>Which?<blockquote>A pen.</blockquote>Bye</blockquote>`, "Blue."],
    ["below an attribution, without an element of its own", `<p>Blue.</p><p>${ATTRIBUTION}</p><p>Which?</p>`, "Blue."],
    [
      "in Gmail's element for quotes",
      `Blue.<div class="gmail_quote">${ATTRIBUTION}<blockquote>Which?<blockquote>A pen.</blockquote>Bye</blockquote></div>`,
      "Blue.",
    ],
    [
      "in Yahoo's element for quotes",
      `Blue.<div class="yahoo_quoted"><div>${ATTRIBUTION}</div><div>Which?<blockquote>A pen.</blockquote>Bye</div></div>`,
      "Blue.",
    ],
    ["and no other words", "<blockquote>Which?</blockquote>", ""],
  ])("of HTML with a history %s", (_, html, visible) => expect(visibleText(textOfHtml(html))).toBe(visible));

  test("of HTML, up to the first element that is nested too deeply", () => {
    expect(textOfHtml(`<p>Blue.</p>${"<b>".repeat(900)}Small.${"</b>".repeat(900)}<p>Bye</p>`)).toBe("Blue.\nSmall.\nBye");
    expect(textOfHtml(`<p>Blue.</p>${"<b>".repeat(1_001)}Small.${"</b>".repeat(1_001)}<p>Bye</p>`)).toBe("Blue.");
  });

  test.each([
    ["openings of a quote", "On ".repeat(700_000)],
    ["openings of a quote on lines of their own", "On x\n".repeat(400_000)],
    ["sentences like an attribution", "On x he wrote:\n".repeat(140_000)],
    ["quote marks", ">".repeat(2_000_000)],
    ["less-than signs after a header", `From: ${"<".repeat(2_000_000)}`],
  ])("of text made of %s, in linear time: anything slower times out", (_, text) => expect(visibleText(text)).not.toBe(""));

  test.each([
    ["nested elements", "<div>".repeat(400_000)],
    ["images", `${"<img> ".repeat(1_500_000)}x`],
  ])("of HTML made of %s, in linear time: anything slower times out", (_, html) => expect(textOfHtml(html).length).toBeLessThan(2));
});

test("an HTML mail with attachments: its text, and their names", async () => {
  const raw = [
    'Content-Type: multipart/mixed; boundary="b"',
    "",
    "--b\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>See the photo.</p>",
    '--b\r\nContent-Type: image/png\r\nContent-Disposition: attachment; filename="broken [1].png"\r\nContent-Transfer-Encoding: base64\r\n\r\niVBORw0KGgo=',
    "--b--",
  ].join("\r\n");
  const mail = await PostalMime.parse(mime({ to: "help@example.com", subject: "=?utf-8?q?Caf=C3=A9?=", raw }));
  expect(questionOf(mail)).toBe("See the photo.\n[Attachment left out: broken [1].png]");
  expect(subjectOf(mail)).toBe("Café");
});

describe("a mail of plain and HTML parts", () => {
  const parse = async (...parts: [type: string, content: string][]) => {
    const written = parts.map(([type, content]) => `--b\r\nContent-Type: ${type}; charset=utf-8\r\n\r\n${content}\r\n`);
    const raw = `Content-Type: multipart/mixed; boundary="b"\r\n\r\n${written.join("")}--b--\r\n`;
    return (await parseMail(Uint8Array.from(new TextEncoder().encode(mime({ to: "help@example.com", raw })))))!;
  };

  test("has the words of all", async () => {
    const mail = await parse(["text/plain", "Hello < all"], ["text/html", "<p>See <b>below</b></p>"], ["text/plain", "Bye"]);
    expect(questionOf(mail)).toBe("Hello < all\n\nSee below\nBye");
    const forwarded = "Subject: Old\r\nContent-Type: text/html\r\n\r\n<p>Old words</p>";
    expect(questionOf(await parse(["text/plain", "Hello"], ["message/rfc822", forwarded]))).toContain("Old words");
  });

  test.each([
    ["a part", "text/html", ""],
    [
      "a message",
      "message/rfc822",
      'Content-Type: multipart/mixed; boundary="c"\r\n\r\n--c\r\n\r\nOld\r\n--c\r\nContent-Type: text/html\r\n\r\n',
    ],
  ])("is parsed in linear time when a link in %s does not end: anything slower times out", async (_, type, start) => {
    const mail = await parse(["text/plain", "Hello"], [type, `${start}<a ${"href=".repeat(3_200)}`]);
    expect(questionOf(mail)).toContain("Hello");
  });
});

test("of long parts only the beginning is parsed, and the names of all attachments", async () => {
  const attachment = (name: string, content: string) =>
    `--b\r\nContent-Type: image/png\r\nContent-Disposition: attachment; filename="${name}"\r\nContent-Transfer-Encoding: base64\r\n\r\n${content}`;
  const raw = [
    'Content-Type: multipart/mixed; boundary="b"',
    "",
    `--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nSee the photos.\r\n\r\n-- \r\n${"a ".repeat(1_000_000)}`,
    attachment("first.png", `${"QUFB".repeat(19)}\r\n`.repeat(50_000)),
    attachment("second.png", `${"QUFB".repeat(19)}\r\n`.repeat(10_000)),
    "--b--",
  ].join("\r\n");
  const mail = (await parseMail(Uint8Array.from(new TextEncoder().encode(mime({ to: "help@example.com", raw })))))!;
  expect(mail.text!.length).toBeLessThan(600_000);
  expect(mail.attachments.map(({ content }) => (content as ArrayBuffer).byteLength < 400_000)).toEqual([true, true]);
  expect(questionOf(mail)).toBe("See the photos.\n[Attachment left out: first.png]\n[Attachment left out: second.png]");
});

test("a text below large photos is read", async () => {
  const photo = `--b\r\nContent-Type: image/jpeg; name=photo.jpg\r\nContent-Transfer-Encoding: base64\r\n\r\n${`${"QUFB".repeat(19)}\r\n`.repeat(10_000)}`;
  const written = `Two photos.\n${"Where is it? ".repeat(500)}\nBye`;
  const parts = [photo, photo, `--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n${written}\r\n`].join("");
  const raw = `Content-Type: multipart/mixed; boundary="b"\r\n\r\n${parts}--b--\r\n`;
  const mail = (await parseMail(Uint8Array.from(new TextEncoder().encode(mime({ to: "help@example.com", raw })))))!;
  expect(questionOf(mail, ["photo.jpg"])).toBe(written);
});

test("the question of a mail without text is its subject; a long text is cut with a note", async () => {
  expect(questionOf(await PostalMime.parse(mime({ to: "a@b.example", subject: "Where is it?", text: "  " })))).toBe("Where is it?");
  const note = "\n[The rest of this mail was left out.]";
  expect(questionOf(await PostalMime.parse(mime({ to: "a@b.example", text: "x".repeat(8_001) })))).toBe("x".repeat(8_000) + note);
  expect(questionOf(await PostalMime.parse(mime({ to: "a@b.example", text: "x".repeat(8_000) })))).toBe("x".repeat(8_000));
  expect(subjectOf(await PostalMime.parse(mime({ to: "a@b.example", subject: "" })))).toBe("(no subject)");
});

test("an answer is in the visitor's thread and marked as auto-replied; a human's is not", () => {
  const parts = {
    role: "assistant",
    content: "Within five days.",
    citations: [
      { title: "Refunds", url: "https://www.example.com/refunds" },
      { title: "Handbook", url: null },
      { title: "Refunds", url: "https://www.example.com/refunds" },
    ],
    agentName: "Help",
    mailbox: "help@example.com",
    address: "ada@example.net",
    subject: "Refund",
    lastMessageId: "<2@example.net>",
    earlierIds: ["<1@example.net>"],
    isReply: 1,
    token: "a".repeat(42),
  };
  expect(composeMail(parts)).toEqual({
    from: { email: "help@example.com", name: "Help" },
    to: "ada@example.net",
    replyTo: { email: `help+${parts.token}@example.com`, name: "Help" },
    subject: "Re: Refund",
    text: "Within five days.\n\nSources:\n- Refunds: https://www.example.com/refunds\n",
    headers: {
      "In-Reply-To": "<2@example.net>",
      References: `<t.${parts.token}@example.com> <1@example.net> <2@example.net>`,
      "Auto-Submitted": "auto-replied",
      "X-Auto-Response-Suppress": "All",
    },
  });
  const human = composeMail({ ...parts, role: "human", citations: [], subject: "AW: Refund" });
  expect(human.subject).toBe("AW: Refund");
  expect(Object.keys(human.headers!)).toEqual(["In-Reply-To", "References"]);
  const named = composeMail({ ...parts, agentName: "Help\r\nBcc: eve@example.org\r\n" });
  expect(named.from).toEqual({ email: "help@example.com", name: "Help Bcc: eve@example.org" });
  expect(named.replyTo).toMatchObject({ name: "Help Bcc: eve@example.org" });
  const injected = composeMail({
    ...parts,
    subject: "Refund\r\nBcc: eve@example.org",
    lastMessageId: "<2@a>\r\nBcc: eve@example.org",
    isReply: 0,
  });
  expect(injected.subject).toBe("Refund Bcc: eve@example.org");
  expect(JSON.stringify(injected.headers)).not.toContain("eve");
});
