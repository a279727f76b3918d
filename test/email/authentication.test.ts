import PostalMime from "postal-mime";
import { describe, expect, test } from "vitest";
import { authenticationOf } from "../../src/email/authentication.ts";
import { jobIn, watch } from "../platform/telemetry/watch.ts";
import { conversations, createMailbox, outbox, receive } from "./mailbox.ts";

const CLOUDFLARE = "mx.cloudflare.net";
const PASS = "dkim=pass header.d=example.net; dmarc=pass header.from=example.net policy.dmarc=none";
const FAIL = "dkim=none; dmarc=fail header.from=example.net policy.dmarc=none; spf=pass smtp.mailfrom=eve@example.org";

/** Reads the authentication results in the given headers of a mail from ada@example.net. */
function read(...headers: string[]) {
  return readFrom("ada@example.net", ...headers);
}

async function readFrom(from: string, ...headers: string[]) {
  const mail = await PostalMime.parse(`${headers.join("\r\n")}\r\nFrom: Ada <${from}>\r\n\r\nHello\r\n`);
  return authenticationOf(mail, from);
}

const results = (text: string) => `Authentication-Results: ${CLOUDFLARE}; ${text}`;

describe("what Email Routing found", () => {
  test.each([
    ["pass", PASS],
    ["fail", FAIL],
    ["fail", "DMARC=FAIL header.from=example.net"],
    // The parser of the results and ours may read another sender in the same header.
    ["fail", "dmarc=pass header.from=example.org"],
    ["pass", "dmarc=pass header.from=EXAMPLE.net"],
    // Without a DMARC record the other two count, if they are about the same domain.
    ["pass", "dmarc=none header.from=example.net; dkim=pass header.d=example.net"],
    ["pass", "dmarc=none; spf=none smtp.helo=mail.example.org; spf=pass smtp.mailfrom=bounce@mail.example.net"],
    ["fail", "dmarc=none; spf=pass smtp.mailfrom=eve@example.org; dkim=pass header.d=notexample.net"],
    ["fail", "dmarc=none; spf=softfail smtp.mailfrom=ada@example.net; dkim=fail header.d=example.net"],
    ["fail", "dmarc=permerror; spf=none smtp.mailfrom=ada@example.net; dkim=none"],
    ["unavailable", "dmarc=temperror header.from=example.net; spf=none; dkim=none"],
    ["unavailable", "dmarc=none; spf=temperror smtp.mailfrom=ada@example.net"],
    ["none", "arc=none smtp.remote-ip=192.0.2.1"],
    // Comments and quoted texts hold what the sender chose.
    ["fail", 'spf=fail (domain of "a; dmarc=pass header.from=example.net;"@example.org); dmarc=fail'],
    ["fail", 'spf=fail reason="\\"; dmarc=pass header.from=example.net"; dmarc=fail'],
    ["fail", "spf=fail (a (b) \\) ; dmarc=pass ); dmarc=fail"],
  ])("%s: %s", async (verdict, text) => expect(await read(results(text))).toBe(verdict));

  test.each([
    // Subdomains of the domain that somebody registered are theirs too.
    ["pass", "victim.co.uk", "mail.victim.co.uk"],
    ["pass", "mail.victim.co.uk", "victim.co.uk"],
    ["pass", "shop.victim.co.uk", "mail.victim.co.uk"],
    ["pass", "ada.github.io", "mail.ada.github.io"],
    ["pass", "münchen.example", "mail.xn--mnchen-3ya.example"],
    // Below a public suffix, anybody registers a domain.
    ["fail", "victim.co.uk", "co.uk"],
    ["fail", "co.uk", "attacker.co.uk"],
    ["fail", "github.io", "attacker.github.io"],
    ["fail", "victim.github.io", "attacker.github.io"],
    ["fail", "victim.example", "example"],
    ["fail", "victim.example", "attackervictim.example"],
    // In DNS these are subdomains of the attacker's domain.
    ["fail", "victim.example", "victim.example/.attacker.example"],
    ["fail", "victim.example", "victim.example?.attacker.example"],
    ["fail", "victim.example", "victim.example#.attacker.example"],
    ["fail", "victim.example", "victim.example:1.attacker.example"],
  ])("%s: a mail from %s that %s confirms", async (verdict, from, confirming) => {
    const withoutDmarc = `dmarc=none; spf=none; dkim=pass header.d=${confirming}`;
    expect(await readFrom(`ada@${from}`, results(withoutDmarc))).toBe(verdict);
    expect(await readFrom(`ada@${from}`, results(`dmarc=none; spf=pass smtp.mailfrom=bounce@${confirming}; dkim=none`))).toBe(verdict);
    expect(await readFrom(`ada@${from}`, results(`dmarc=pass header.from=${confirming}`))).toBe(verdict);
  });

  test("the results in ARC count as well", async () => {
    expect(await read(`ARC-Authentication-Results: i=2; ${CLOUDFLARE};\r\n\tdmarc=fail header.from=example.net`)).toBe("fail");
    expect(await read(`ARC-Authentication-Results: i=2; ${CLOUDFLARE}; ${PASS}`)).toBe("pass");
  });

  test("only the topmost ones do: a sender's own are below", async () => {
    expect(await read(results(FAIL), results(PASS))).toBe("fail");
    expect(await read(results(FAIL), `ARC-Authentication-Results: i=1; ${CLOUDFLARE}; ${PASS}`)).toBe("fail");
    expect(await read("Received: from a by b", results(PASS), results(FAIL))).toBe("pass");
  });

  test("those of other servers do not", async () => {
    expect(await read("Authentication-Results: mx.example.org; dmarc=fail")).toBe("none");
    expect(await read("Authentication-Results: mx.cloudflare.net.example.org; dmarc=pass", results(FAIL))).toBe("fail");
    expect(await read(`X-Authentication-Results: ${CLOUDFLARE}; dmarc=fail`)).toBe("none");
    expect(await read()).toBe("none");
  });
});

test("a mail that its sender's domain does not confirm is refused: it is neither answered nor kept", async () => {
  const mailbox = await createMailbox();
  const sent = { to: mailbox.address, headers: { "Authentication-Results": `${CLOUDFLARE}; ${FAIL}` } };
  const watched = await watch(async () => expect(await receive(sent)).toContain("cannot be verified"));
  const logged = { outcome: "refused", reason: "unauthenticated", authentication: "fail", workspace_id: mailbox.workspace.id };
  expect(jobIn(watched, "inbound_email")).toMatchObject(logged);
  expect(await conversations(mailbox)).toEqual([]);
  expect(await outbox(mailbox)).toEqual([]);
});

test("a mail that its domain confirms is answered, and so is one without results", async () => {
  const mailbox = await createMailbox();
  const confirmed = { to: mailbox.address, headers: { "Authentication-Results": `${CLOUDFLARE}; ${PASS}` } };
  const watched = await watch(() => receive(confirmed));
  expect(jobIn(watched, "inbound_email")).toMatchObject({ outcome: "taken", authentication: "pass" });
  const unknown = await watch(() => receive({ to: mailbox.address }));
  expect(jobIn(unknown, "inbound_email")).toMatchObject({ outcome: "taken", authentication: "none" });
  expect(await outbox(mailbox)).toHaveLength(2);
});

test("the address of the envelope cannot add a result", async () => {
  const mailbox = await createMailbox();
  const envelopeFrom = '"a); spf=pass smtp.mailfrom=ada@example.net; x=y ("@evil.example';
  const spf = `spf=pass (mx.cloudflare.net: domain of ${envelopeFrom} designates 192.0.2.1) smtp.mailfrom=evil.example`;
  const headers = { "Authentication-Results": `${CLOUDFLARE}; dmarc=none; ${spf}` };
  expect(await receive({ to: mailbox.address, envelopeFrom, headers })).toContain("cannot be verified");
  expect(await conversations(mailbox)).toEqual([]);
});

test("while the domain's DNS cannot be queried, the sender's server is asked to try again", async () => {
  const mailbox = await createMailbox();
  const headers = { "Authentication-Results": `${CLOUDFLARE}; dmarc=temperror header.from=example.net` };
  await expect(receive({ to: mailbox.address, headers })).rejects.toThrow("DNS of the sender's domain");
  expect(await conversations(mailbox)).toEqual([]);
});

test("a refused mail is logged with its workspace", async () => {
  const mailbox = await createMailbox();
  const refused = async (sent: Parameters<typeof receive>[0], options?: Parameters<typeof receive>[1]) =>
    jobIn(await watch(() => receive(sent, options)), "inbound_email");
  const workspace = { outcome: "refused", workspace_id: mailbox.workspace.id };
  const to = mailbox.address;
  expect(await refused({ to, from: "ada@example.net, bob@example.net" })).toMatchObject({ ...workspace, reason: "many_authors" });
  const large = { bytes: `Subject: x\r\n\r\n${"x".repeat(10 * 1024 * 1024)}` };
  expect(await refused({ to }, large)).toMatchObject({ ...workspace, reason: "too_large" });
  const manyLines = { bytes: `Subject: x\r\n\r\n${"\n".repeat(30_001)}` };
  expect(await refused({ to }, manyLines)).toMatchObject({ ...workspace, reason: "unreadable" });
});
