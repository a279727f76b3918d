import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { call, type Client, poll } from "../shared/service.ts";
import type { Demo } from "./demo.ts";
import type { Deployment } from "../backup/records.ts";
import { addPastDays, COLLEAGUE, PAST_PEOPLE, type Person, person } from "./past-days.ts";

/*
 * Samples in the demo workspace: conversations in each state, a lead, a source that failed, and past days. They are made through the
 * API, as a shop's backend and its visitors would make them, and their people can be erased like any others.
 */

interface Sample {
  person: Person;
  /** The person's messages, in their order. */
  messages: readonly string[];
  /** What the team does afterwards. */
  team?: (client: Client, conversationPath: string) => Promise<unknown>;
}

const SAMPLES: readonly Sample[] = [
  {
    person: person("ada", "Ada Lovelace"),
    messages: ["How are webhooks signed?", "And how do I rotate the secret?"],
    team: (client, path) => call(client, "PATCH", path, { tags: ["webhooks"] }),
  },
  {
    person: person("edsger", "Edsger Dijkstra"),
    messages: ["How do I erase all data of one person?"],
    team: (client, path) => call(client, "PATCH", path, { status: "resolved" }),
  },
  {
    person: person("katherine", "Katherine Johnson"),
    messages: ["Do you offer a discount for universities?"],
    team: async (client, path) => {
      await call(client, "POST", `${path}/notes`, { content: "Asked sales: 40 % for teaching.", author: COLLEAGUE });
      const content = "Yes: universities pay 60 % of the price. Which one are you with?";
      return call(client, "POST", `${path}/messages`, { content, author: COLLEAGUE });
    },
  },
  {
    person: person("alan", "Alan Turing"),
    messages: ["What happens when a webhook endpoint is down?", "Can I talk to a person about our contract?"],
  },
  { person: person("mary", "Mary Jackson"), messages: ["Can your invoices show our purchase order number?"] },
  { person: person("dorothy", "Dorothy Vaughan"), messages: ["Is it possible to have our purchase order number on invoices?"] },
];

const LEAD = { name: "Mary Jackson", email: "mary@example.com", message: "Please send an offer for forty seats." };
/** The source of a file that begins like a PDF and is none, so that reading it fails. */
const BROKEN_SOURCE = "old-price-list";
/** The demo is as good without it. */
const LONGEST_WAIT_MS = 10_000;

/**
 * Adds the samples to a demo workspace that has no conversations yet, or that was restored after a start that was killed.
 * @param file where a backup of it is until all of them are there.
 */
export async function addSamples(deployment: Deployment, client: Client, { agentId }: Demo, file: string): Promise<void> {
  const isRestored = existsSync(file);
  const { total } = await call<{ total: number }>(client, "GET", "/api/v1/conversations?limit=1");
  if (total > 0 && !isRestored) return;
  if (total === 0) await addPastDays(deployment, client, agentId, file);
  await call(client, "POST", `/widget/v1/agents/${agentId}/leads`, LEAD);
  const form = new FormData();
  form.set("file", new Blob(["%PDF-1.7"]), `${BROKEN_SOURCE}.pdf`);
  const sources = `/api/v1/agents/${agentId}/sources`;
  const { id: fileId } = await call<{ id: string }>(client, "POST", `${sources}/files`, form);
  for (const { person: user, messages, team } of SAMPLES) {
    let conversationId: string | undefined;
    for (const message of messages) {
      const body = { message, user, ...(conversationId !== undefined && { conversation_id: conversationId }) };
      const path = `/api/v1/agents/${agentId}/messages`;
      ({ conversation_id: conversationId } = await call<{ conversation_id: string }>(client, "POST", path, body));
    }
    await team?.(client, `/api/v1/conversations/${conversationId}`);
  }
  await waitUntilRead(client, `${sources}/${fileId}`);
  await rm(file);
}

/** The failure of this source is part of the demo. Later, it would be the first line of the log and look like a fault. */
async function waitUntilRead(client: Client, path: string): Promise<void> {
  await poll(async () => {
    const { status } = await call<{ status: string }>(client, "GET", path);
    return status === "ready" || status === "failed" || undefined;
  }, LONGEST_WAIT_MS);
}

/** Erases the samples: their people with all their data, the source, and the backup that a killed start left. */
export async function removeSamples(client: Client, { agentId }: Demo, file: string): Promise<void> {
  await rm(file, { force: true });
  for (const { id, email } of [...SAMPLES.map((sample) => sample.person), ...PAST_PEOPLE]) {
    for (const query of [`external_id=${id}`, `email=${email}`]) await call(client, "DELETE", `/api/v1/privacy/visitors?${query}`);
  }
  const path = `/api/v1/agents/${agentId}/sources`;
  const { data } = await call<{ data: { id: string; name: string }[] }>(client, "GET", path);
  for (const { id } of data.filter(({ name }) => name === BROKEN_SOURCE)) await call(client, "DELETE", `${path}/${id}`);
}
