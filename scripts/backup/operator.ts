import { setTimeout as sleep } from "node:timers/promises";
import { UserError } from "../shared/cli.ts";
import { networkErrorText } from "../shared/service.ts";

/** Longer than the service takes for the largest request. */
const REQUEST_MS = 120_000;
/** Every request may come again without harm: a short outage does not end an import of hours. */
const ATTEMPTS = 5;
const FIRST_PAUSE_MS = 1_000;

/** The operator's surface of a deployment. */
export interface Operator {
  url: string;
  /** The text of a successful answer, all of which has come. */
  send: (method: "GET" | "POST" | "DELETE", path: string, body?: string) => Promise<string>;
}

/** A client that tries again what fails for now, and says so. */
export function operatorOf(url: string, token: string, say: (text: string) => void): Operator {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const once = async (method: string, path: string, body?: string) => {
    const init = { method, headers, signal: AbortSignal.timeout(REQUEST_MS), ...(body !== undefined && { body }) };
    const response = await fetch(`${url}/operator/v1${path}`, init);
    return { status: response.status, text: await response.text() };
  };
  return {
    url,
    async send(method, path, body) {
      for (let attempt = 1; ; attempt++) {
        const answer = await once(method, path, body).catch((error: unknown) => ({ status: 0, text: networkErrorText(error) }));
        if (answer.status >= 200 && answer.status < 300) return answer.text;
        const isForNow = answer.status === 0 || answer.status === 429 || answer.status >= 500;
        if (!isForNow || attempt === ATTEMPTS) throw new UserError(`${method} ${path.split("?")[0]} ${describeAnswer(answer)}`);
        const pauseMs = FIRST_PAUSE_MS * 2 ** (attempt - 1);
        say(`${describeAnswer(answer)} Trying again in ${pauseMs / 1000} s.`);
        await sleep(pauseMs);
      }
    },
  };
}

/** An answer that is an error, in words for the user of the command. */
function describeAnswer({ status, text }: { status: number; text: string }): string {
  if (status === 0) return `was not answered: ${text}.`;
  const { error, detail } = parsed(text);
  const items = (detail ?? []).slice(0, 5).map(({ loc, msg }) => `\n  ${loc.join(".")}: ${msg}`);
  return `answered ${status}: ${error?.message ?? text.slice(0, 200)}${items.join("")}`;
}

function parsed(text: string): { error?: { message: string }; detail?: { loc: string[]; msg: string }[] } {
  try {
    return JSON.parse(text) as ReturnType<typeof parsed>;
  } catch {
    return {};
  }
}
