import { wakeUp } from "../wake-up.ts";

/** A wake-up: which message is to go out as mail. */
export interface EmailMessage {
  messageId: string;
}

/** Sends wake-ups for messages that wait to go out as mail. The sweep finds one whose wake-up is lost. */
export function wakeMails(env: Env, messages: readonly EmailMessage[]): Promise<void> {
  return wakeUp(env.EMAIL_QUEUE, messages);
}
