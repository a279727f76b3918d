import { setTimeout as sleep } from "node:timers/promises";
import { type Client, createClient, describeAnswer } from "../shared/service.ts";

/** This is longer than the service takes for the largest request. */
const REQUEST_MS = 120_000;
/** Each request can be repeated without harm, so a short outage does not end an import of hours. */
const ATTEMPTS = 5;
const FIRST_PAUSE_MS = 1_000;

/** A client of a deployment's operator API that repeats a request after a passing failure, and says so. */
export function createOperator(url: string, token: string, say: (text: string) => void = () => undefined): Client {
  const client = createClient(url, token, REQUEST_MS);
  return {
    async send(method, path, body) {
      for (let attempt = 1; ; attempt++) {
        const answer = await client.send(method, path, body).catch((error: Error) => error);
        const isPassing = answer instanceof Error || answer.status === 429 || answer.status >= 500;
        if (isPassing && attempt < ATTEMPTS) {
          const pauseMs = FIRST_PAUSE_MS * 2 ** (attempt - 1);
          say(`${answer instanceof Error ? answer.message : describeAnswer(answer)} Trying again in ${pauseMs / 1000} s.`);
          await sleep(pauseMs);
        } else if (answer instanceof Error) throw answer;
        else return answer;
      }
    },
  };
}
