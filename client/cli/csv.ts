import type { Client } from "../index.ts";
import { connect } from "./environment.ts";
import { printable } from "./terminal.ts";

/** Prints the CSV of a list of the service, part by part. A header of a part has the cursor of the next one. */
export async function printCsv(read: (client: Client, place: { cursor: string | undefined }) => Promise<unknown>): Promise<void> {
  let cursor: string | undefined;
  const client = connect({
    fetch: (url, init) => fetch(url, { ...init, headers: { ...(init?.headers as Record<string, string>), Accept: "text/csv" } }),
    onResponse: ({ headers }) => (cursor = headers.get("X-Next-Cursor") ?? undefined),
  });
  do {
    // The client returns a body that is not JSON as text.
    const part = (await read(client, { cursor })) as string;
    process.stdout.write(process.stdout.isTTY ? printable(part) : part);
  } while (cursor !== undefined);
}
