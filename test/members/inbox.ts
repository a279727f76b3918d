import { env } from "cloudflare:workers";
import { mailService } from "../email/mailbox.ts";

/** Lets the service send its own mails, until the tests of the file end. @param fail returns the code of an error of the mail service. @returns the mails. */
export function receiveMails(fail?: () => string | undefined): EmailMessageBuilder[] {
  const { mails, environment } = mailService(fail);
  Object.assign(env, { MAIL_FROM: "sign-in@service.test", EMAIL: environment.EMAIL });
  return mails;
}

/** The token of the link in a mail. */
export function linkIn(mail: EmailMessageBuilder | undefined): string {
  return /https?:\/\/\S+#sign-in=(\S+)/.exec(mail?.text ?? "")![1]!;
}
