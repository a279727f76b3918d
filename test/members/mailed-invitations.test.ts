import { env } from "cloudflare:workers";
import { beforeEach, expect, test } from "vitest";
import { createWorkspace } from "../harness.ts";
import { linkIn, receiveMails } from "./inbox.ts";
import { accept, invite } from "./team.ts";

beforeEach(() => void Object.assign(env, { MAIL_FROM: "" }));

test("an invitation is mailed where mail is set up, and the link in the mail signs in once", async () => {
  const workspace = await createWorkspace();
  const mails = receiveMails();
  const invited = await invite(workspace, "agent", { email: "Ada@Example.com" });
  expect(invited.body.invitation).toEqual({ url: null, expires_at: expect.any(String) });
  expect(mails).toMatchObject([
    {
      from: { email: "sign-in@service.test", name: "Support Agent Service" },
      to: "ada@example.com",
      subject: "Invitation to the team of Test",
      headers: { "Auto-Submitted": "auto-generated" },
    },
  ]);
  const url = `https://service.test/console/#sign-in=${linkIn(mails[0])}`;
  expect((await accept({ url })).id).toBe(invited.body.id);
  await expect(accept({ url })).rejects.toThrow("refused");
});

test("the response has the link if the caller wants it, no mail is set up, or the mail is refused", async () => {
  const workspace = await createWorkspace();
  const { body: first } = await invite(workspace, "agent");
  expect(first.invitation.url).toContain("#sign-in=");
  const mails = receiveMails();
  const { body: wanted } = await invite(workspace, "agent", { mail: false });
  expect([wanted.invitation.url, mails]).toEqual([expect.stringContaining("#sign-in="), []]);
  const { body: renewed } = await workspace.call("POST", `/members/${first.id}/invitation`, { mail: false });
  expect([renewed.invitation.url, mails]).toEqual([expect.stringContaining("#sign-in="), []]);
  const { body: mailed } = await workspace.call("POST", `/members/${first.id}/invitation`);
  expect([mailed.invitation.url, mails.length]).toEqual([null, 1]);
  receiveMails(() => "E_RECIPIENT_SUPPRESSED");
  const { status, body: refused } = await invite(workspace, "agent");
  expect([status, refused.invitation.url]).toEqual([201, expect.stringContaining("#sign-in=")]);
  expect((await accept(refused.invitation)).id).toBe(refused.id);
});

test("one address gets at most five invitations an hour", async () => {
  const workspace = await createWorkspace();
  const mails = receiveMails();
  const { body: invited } = await invite(workspace, "agent");
  const renewed = await Promise.all(Array.from({ length: 7 }, () => workspace.call("POST", `/members/${invited.id}/invitation`)));
  expect(mails.length).toBe(5);
  expect(renewed.filter(({ body }) => body.invitation.url === null).length).toBe(4);
  expect((await invite(workspace, "agent")).body.invitation.url).toBeNull();
  // The limit is the workspace's own.
  const other = await createWorkspace();
  expect((await invite(other, "agent", { email: invited.email })).body.invitation.url).toBeNull();
});
