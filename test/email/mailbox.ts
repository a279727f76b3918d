import { env } from "cloudflare:workers";
import { receiveMail } from "../../src/email/inbound.ts";
import { createAgent, createWorkspace, envWith, learn, query, type Workspace } from "../harness.ts";

/** An agent that answers mails. */
export interface Mailbox {
  workspace: Workspace;
  agentId: string;
  address: string;
}

let made = 0;

/** Creates a workspace whose agent has a mail address and knows about refunds. */
export async function createMailbox(settings: Record<string, unknown> = {}): Promise<Mailbox> {
  const workspace = await createWorkspace();
  const address = `help-${Date.now()}-${++made}@example.com`;
  const agent = await createAgent(workspace, { email_address: address, handoff_message: "A colleague will write to you.", ...settings });
  await learn(workspace, agent.id, "# Refunds\n\nRefunds are paid within five working days after we receive the parcel.");
  return { workspace, agentId: agent.id, address };
}

export interface Sent {
  from?: string;
  to: string;
  /** The sender of the envelope; by default the address in the header. */
  envelopeFrom?: string;
  headers?: Record<string, string>;
  subject?: string;
  text?: string;
  /** A whole body with its own headers, instead of `text`. */
  raw?: string;
}

/** The bytes of a mail. */
export function mime({ from = "Ada Lovelace <ada@example.net>", to, headers = {}, subject = "Refund", text, raw }: Sent): string {
  const lines = { From: from, To: to, Subject: subject, "Message-ID": `<${crypto.randomUUID()}@example.net>`, ...headers };
  const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}`);
  const body = raw ?? `Content-Type: text/plain; charset=utf-8\r\n\r\n${(text ?? "When are refunds paid?").replaceAll("\n", "\r\n")}\r\n`;
  return `${head.join("\r\n")}\r\n${body}`;
}

/** Delivers a mail to the service as the platform does. @returns the reason if the mail was rejected. */
export async function receive(
  sent: Sent,
  { nowMs, bytes = mime(sent), environment = env }: { nowMs?: number; bytes?: string; environment?: Env } = {},
) {
  let rejected: string | undefined;
  const data = new TextEncoder().encode(bytes);
  const from = sent.envelopeFrom ?? /<?([^<>\s]+@[^<>\s]+)>?$/.exec(sent.from ?? "ada@example.net")?.[1] ?? "";
  const message = {
    from,
    to: sent.to,
    raw: new Response(data).body!,
    rawSize: data.length,
    headers: new Headers(),
    setReject: (reason: string) => void (rejected = reason),
  };
  await receiveMail(message as unknown as ForwardableEmailMessage, environment, nowMs);
  return rejected;
}

/** The conversations by email, newest activity first, with their transcripts. */
export async function conversations({ workspace }: Mailbox): Promise<any[]> {
  const { body } = await workspace.call("GET", "/conversations?channel=email");
  return Promise.all(body.data.map(async ({ id }: { id: string }) => (await workspace.call("GET", `/conversations/${id}`)).body));
}

/** The outbox of a workspace. */
export function outbox({ workspace }: Mailbox) {
  return query<{ message_id: string; status: string; attempt_count: number; next_attempt_at: number; error: string | null }>(
    workspace.id,
    "SELECT * FROM email_outbox WHERE workspace_id = ? ORDER BY message_id",
    workspace.id,
  );
}

const MAX_HEADER_BYTES = 2_048;

/** An environment whose mail service keeps what it is given, or fails with a code of its own. Like the real one it refuses long headers. */
export function mailService(fail?: () => string | undefined) {
  const mails: EmailMessageBuilder[] = [];
  const send = async (mail: EmailMessageBuilder) => {
    const isTooLong = Object.values(mail.headers ?? {}).some((value) => new TextEncoder().encode(value).length > MAX_HEADER_BYTES);
    const code = isTooLong ? "E_HEADER_VALUE_TOO_LONG" : fail?.();
    if (code) throw Object.assign(new Error("refused"), { code });
    mails.push(mail);
    return { messageId: `<${mails.length}@mail.example>` };
  };
  return { mails, environment: envWith({ EMAIL: { send } }) };
}
