/**
 * What an operator has to do about the mail service's errors that lie in the account's configuration. Mails wait for that:
 * https://developers.cloudflare.com/email-service/api/send-emails/workers-api/
 */
export const MAIL_REMEDIES: Readonly<Record<string, string>> = {
  E_SENDER_NOT_VERIFIED:
    "Verify the domain of the agent's email_address: Email Service, Email Sending, Settings shows which DNS records are missing.",
  E_SENDER_DOMAIN_NOT_AVAILABLE: "Onboard the domain of the agent's email_address in Email Service, Email Sending.",
  E_RECIPIENT_NOT_ALLOWED:
    "Onboard the domain of the agent's email_address in Email Service, Email Sending (before, only verified addresses may get mail), and set no destination addresses on the binding EMAIL.",
  E_DAILY_LIMIT_EXCEEDED: "Ask Cloudflare for a higher daily limit of Email Sending.",
};
