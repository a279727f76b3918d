import { setTimeout as sleep } from "node:timers/promises";
import { type Client, type ClientOptions, createClient } from "../index.ts";
import { UsageError } from "./errors.ts";
import { columns, note } from "./terminal.ts";

/** The option of every command that is about one agent. */
export const AGENT_OPTION = {
  type: "string",
  value: "ID",
  about: "The agent. Default: $SUPPORT_AGENT, or the only one of the workspace.",
} as const;

/** The API key in the environment. @throws UsageError if there is none. */
export function apiKeyOf(): string {
  const apiKey = process.env["SUPPORT_KEY"]?.trim();
  if (!apiKey) {
    throw new UsageError(
      "SUPPORT_KEY is not set. Create an API key in the console, under Settings, and run: export SUPPORT_KEY=sk_live_…\nFor a service on this machine, npm run dev prints the line to paste.",
    );
  }
  return apiKey;
}

/** The address of the service in the environment. @throws UsageError if there is none, or if it is no address. */
function addressOf(): string {
  const url = process.env["SUPPORT_URL"]?.trim();
  if (!url)
    throw new UsageError(
      "SUPPORT_URL is not set. Run: export SUPPORT_URL=https://support.example.com\nA service on this machine is at http://localhost:8787.",
    );
  if (!/^https?:\/\/[^/\s]+\/?$/.test(url))
    throw new UsageError(`SUPPORT_URL is ${url}, which is not an address such as https://support.example.com: a host without a path.`);
  return url;
}

/** Shorter waits are not reported. */
const SILENT_WAIT_MS = 3_000;

/** Creates a client for the workspace that the environment names. */
export function connect(options: Pick<ClientOptions, "fetch" | "onResponse"> = {}): Client {
  return createClient({
    ...options,
    baseUrl: addressOf(),
    apiKey: apiKeyOf(),
    wait: async (ms) => {
      if (ms >= SILENT_WAIT_MS) note(`The service asks to wait ${ms / 1000} s.`);
      await sleep(ms);
    },
  });
}

/** Returns the id of the agent that a command is about. @throws UsageError if it is not clear which one that is. */
export async function agentOf(client: Client, given: string | undefined): Promise<string> {
  const named = given ?? process.env["SUPPORT_AGENT"]?.trim();
  if (named) return named;
  const { data, total } = await client.listAgents({ limit: 20 });
  if (data.length === 1) return data[0]!.id;
  if (total === 0) throw new UsageError("The workspace has no agent. Create one in the console, or with POST /api/v1/agents.");
  throw new UsageError(`Choose an agent with --agent or SUPPORT_AGENT:\n${columns(data.map(({ id, name }) => [id, name]))}`);
}
