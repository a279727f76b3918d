import { createOperatorClient } from "../../../client/operator.ts";
import { fetchAsConsole } from "../api.ts";

export type { Schemas } from "../../../client/operator.ts";

/** The operator API, authenticated by the session's cookie. */
export const operator = createOperatorClient({
  baseUrl: location.origin,
  token: "session",
  fetch: fetchAsConsole,
  retries: 1,
  maxWaitSeconds: 2,
});
