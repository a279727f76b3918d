import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client, Schemas } from "../index.ts";
import { choiceOf, countOf, defineCommand, deleteEach } from "./command.ts";
import { AGENT_OPTION, agentOf, connect } from "./environment.ts";
import { explain, FailedError, UsageError } from "./errors.ts";
import { readInput, readNamedFile } from "./input.ts";
import { endProgress, note, print, printRecord, printTable, showProgress, timeText } from "./terminal.ts";

type Source = Schemas["Source"];

const WAIT_OPTION = { type: "boolean", about: "Waits until the sources are read, and shows the progress." } as const;

export const addSources = defineCommand({
  name: "sources add",
  about: "Adds sources to the knowledge of an agent: files, pages, websites, or a text that is piped in.",
  parameters: "FILE|URL|- ...",
  options: {
    agent: AGENT_OPTION,
    name: { type: "string", value: "TEXT", about: "The name of the source. Default: the file's name or the address." },
    key: { type: "string", value: "KEY", about: "Your own key for a file or text. What has this key already is replaced." },
    website: { type: "boolean", about: "Reads the whole website, not only the page at the URL." },
    "max-pages": { type: "string", value: "N", about: "The most pages of a website to read. Default: 100." },
    schedule: { type: "string", value: "WHEN", about: "How often a URL is read again: manual, daily or weekly (default)." },
    metadata: {
      type: "string",
      value: "KEY=VALUE",
      multiple: true,
      about: "A label by which searches can be filtered. May be repeated.",
    },
    wait: WAIT_OPTION,
  },
  examples: [
    "support-agent sources add ./manual.pdf ./prices.csv --wait",
    "support-agent sources add https://www.example.com/help --website --max-pages 500 --wait",
    'git log -20 --format=%s | support-agent sources add - --name "Latest changes"',
    "support-agent sources add docs/refunds.md --key docs/refunds.md --wait",
  ],
  run: async ({ parameters, options }) => {
    if (parameters.length === 0)
      throw new UsageError("Name a FILE, a URL, or - for what is piped in. See: support-agent sources add --help");
    if (options.name !== undefined && parameters.length > 1) throw new UsageError("--name names one source: add the others by themselves.");
    if (options.key !== undefined && parameters.length > 1) throw new UsageError("--key names one source: add the others by themselves.");
    const settings = settingsOf(options);
    const client = connect();
    const agent_id = await agentOf(client, options.agent);
    await report(client, parameters, (target) => addSource(client, agent_id, target, settings), options);
  },
});

export const listSources = defineCommand({
  name: "sources ls",
  about: "Lists the sources of an agent.",
  parameters: "",
  options: { agent: AGENT_OPTION },
  examples: ["support-agent sources ls", "support-agent sources ls --json | jq -r 'select(.status == \"failed\") | .error.message'"],
  run: async ({ options }) => {
    const client = connect();
    const { data } = await client.listSources({ agent_id: await agentOf(client, options.agent) });
    if (options.json) return data.forEach(printRecord);
    if (data.length === 0) return print("No sources yet. Add one: support-agent sources add ./manual.pdf");
    const rowOf = ({ id, type, status, pages_indexed, last_synced_at, name, error }: Source) => [
      id,
      type,
      status,
      `${pages_indexed}`,
      timeText(last_synced_at),
      error ? `${name}: ${error.message}` : name,
    ];
    printTable(["ID", "TYPE", "STATUS", "PAGES", "LAST READ", "NAME"], data.map(rowOf));
  },
});

export const syncSources = defineCommand({
  name: "sources sync",
  about: "Reads sources again.",
  parameters: "SOURCE_ID ...",
  options: { agent: AGENT_OPTION, wait: WAIT_OPTION },
  examples: ["support-agent sources sync 019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00 --wait"],
  run: async ({ parameters, options }) => {
    if (parameters.length === 0) throw new UsageError("Name a SOURCE_ID. See: support-agent sources ls");
    const client = connect();
    const agent_id = await agentOf(client, options.agent);
    await report(client, parameters, (source_id) => client.syncSource({ agent_id, source_id }), options);
  },
});

export const removeSources = defineCommand({
  name: "sources rm",
  about: "Deletes sources, and all that the agent knows from them.",
  parameters: "SOURCE_ID ...",
  options: { agent: AGENT_OPTION, key: { type: "string", value: "KEY", about: "Deletes the source with this key of yours." } },
  examples: ["support-agent sources rm 019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00", "support-agent sources rm --key docs/refunds.md"],
  run: async ({ parameters, options: { agent, key } }) => {
    const client = connect();
    const agent_id = await agentOf(client, agent);
    const ids = key === undefined ? parameters : [...parameters, await idOfKey(client, agent_id, key)];
    await deleteEach(ids, "SOURCE_ID", (source_id) => client.deleteSource({ agent_id, source_id }));
  },
});

async function idOfKey(client: Client, agent_id: string, key: string): Promise<string> {
  const found = (await client.listSources({ agent_id })).data.find((source) => source.key === key);
  if (!found) throw new UsageError(`The agent has no source with the key ${key}. See: support-agent sources ls`);
  return found.id;
}

interface Settings {
  name: string | undefined;
  key: string | undefined;
  isWebsite: boolean;
  max_pages: number | undefined;
  schedule: "manual" | "daily" | "weekly" | undefined;
  metadata: Record<string, string>;
}

interface AddOptions {
  name?: string;
  key?: string;
  website?: boolean;
  "max-pages"?: string;
  schedule?: string;
  metadata?: string[];
}

function settingsOf({ name, key, website = false, "max-pages": maxPages, schedule, metadata = [] }: AddOptions): Settings {
  const labels = metadata.map((label) => {
    const [, key, value] = /^([^=]+)=(.*)$/s.exec(label) ?? [];
    if (key === undefined || value === undefined) throw new UsageError(`--metadata ${label} is not of the form KEY=VALUE.`);
    return [key, value] as const;
  });
  return {
    name,
    key,
    isWebsite: website,
    max_pages: countOf("max-pages", maxPages),
    schedule: choiceOf("schedule", schedule, ["manual", "daily", "weekly"]),
    metadata: Object.fromEntries(labels),
  };
}

async function addSource(
  client: Client,
  agent_id: string,
  target: string,
  { isWebsite, name, key, metadata, ...reading }: Settings,
): Promise<Source> {
  const isUrl = /^https?:\/\//i.test(target);
  if (isUrl && key !== undefined) throw new UsageError("--key is for files and texts. A URL is read again by its --schedule.");
  if (isUrl) {
    const type = isWebsite ? "website" : "url";
    return client.createSource({ agent_id, body: { type, url: target, name: name ?? target, metadata, ...reading } });
  }
  if (isWebsite) throw new UsageError(`${target} is not a URL, so it is no --website.`);
  if (target === "-") {
    if (key !== undefined) return client.putSource({ agent_id, source_key: key, body: { name, text: await readInput(), metadata } });
    if (name === undefined) throw new UsageError("What is piped in needs a --name.");
    return client.createSource({ agent_id, body: { type: "text", name, text: await readInput(), metadata } });
  }
  const file = new File([await readNamedFile(target, "Name a file, or a URL that begins with https://.")], basename(target));
  const body = { file, name, metadata };
  return key === undefined ? client.uploadSourceFile({ agent_id, body }) : client.putSource({ agent_id, source_key: key, body });
}

/**
 * Adds or syncs sources and prints each of them; with `wait`, once it is read.
 * @throws FailedError if one of several was refused or could not be read; the others are done.
 */
async function report(
  client: Client,
  targets: readonly string[],
  start: (target: string) => Promise<Source>,
  { wait = false, json = false }: { wait?: boolean; json?: boolean },
): Promise<void> {
  const started: Source[] = [];
  for (const target of targets) {
    try {
      started.push(await start(target));
    } catch (error) {
      if (targets.length === 1) throw error;
      note(`${target}: ${explain(error)}`);
    }
  }
  const ended: Source[] = [];
  for (const source of started) {
    const last = wait ? await waitFor(client, source) : source;
    if (json) printRecord(last);
    else print(`${last.id}  ${last.name}: ${stateOf(last)}`);
    if (!wait || last.status === "ready") ended.push(last);
  }
  if (ended.length < targets.length) throw new FailedError(`${targets.length - ended.length} of ${targets.length} failed.`);
}

const SHORTEST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 5_000;

/** Waits until a source is read or has failed. */
async function waitFor(client: Client, source: Source): Promise<Source> {
  let now = source;
  for (
    let pauseMs = SHORTEST_PAUSE_MS;
    now.status === "pending" || now.status === "processing";
    pauseMs = Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS)
  ) {
    showProgress(`${now.name}: ${stateOf(now)}`);
    await sleep(pauseMs);
    now = await client.getSource({ agent_id: now.agent_id, source_id: now.id });
  }
  endProgress();
  return now;
}

function stateOf({ status, type, pages_found, pages_indexed, pages_failed, chunks_count, error }: Source): string {
  if (status === "failed") return `failed: ${error?.message ?? "no reason is known"}`;
  const pages =
    type === "website" ? `, ${pages_indexed} of ${pages_found} pages read${pages_failed > 0 ? `, ${pages_failed} failed` : ""}` : "";
  return `${status}${pages}${status === "ready" ? `, ${chunks_count} ${chunks_count === 1 ? "passage" : "passages"}` : ""}`;
}
