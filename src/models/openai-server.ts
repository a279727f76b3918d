import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { boundedFetch } from "./bounded-fetch.ts";

/**
 * The models of a server that speaks the OpenAI protocol. It is the operator's own configuration: unlike addresses that
 * tenants give, it does not pass the egress guard, and may be inside.
 * @param maxBytes responses that are longer end with an error.
 */
export function openAiServer(
  { baseUrl, apiKey }: { baseUrl: string; apiKey: string | undefined },
  maxBytes: number,
  send: typeof fetch = (...request) => fetch(...request),
) {
  return createOpenAICompatible({
    name: "openai-compatible",
    baseURL: baseUrl,
    includeUsage: true,
    fetch: boundedFetch(send, maxBytes),
    ...(apiKey !== undefined && { apiKey }),
  });
}
