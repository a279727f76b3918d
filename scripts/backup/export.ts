import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { UserError } from "../shared/cli.ts";
import { call, type Client } from "../shared/service.ts";
import { type End, totalOf } from "./lines.ts";

/** A few megabytes: an answer is held until all of it has come, so that one that breaks off is asked for again. */
const PAGES_A_REQUEST = 20;
const SAID_EVERY = 20;

/** Where the lines of an export go. */
export interface Sink {
  write: (text: string) => Promise<void>;
  end: () => Promise<void>;
}

/** Writes to a stream, no faster than it takes. */
function sinkOf(stream: NodeJS.WritableStream, end: () => Promise<void>): Sink {
  return {
    async write(text) {
      if (!stream.write(text)) await once(stream, "drain");
    },
    end,
  };
}

export function stdoutSink(): Sink {
  return sinkOf(process.stdout, async () => undefined);
}

/** A file for the owner alone: an export holds all that people wrote. */
export function fileSink(path: string): Sink {
  const stream = createWriteStream(path, { mode: 0o600 });
  return sinkOf(stream, async () => {
    stream.end();
    await once(stream, "finish");
  });
}

/** Writes a workspace's export, answer by answer. */
export async function exportTo(operator: Client, workspaceId: string, sink: Sink, say: (text: string) => void): Promise<void> {
  let cursor: string | undefined;
  for (let request = 1; ; request++) {
    const more = cursor === undefined ? "" : `&cursor=${cursor}`;
    const path = `/operator/v1/workspaces/${encodeURIComponent(workspaceId)}/export?pages=${PAGES_A_REQUEST}${more}`;
    const text = await call<string>(operator, "GET", path);
    const lastAt = text.lastIndexOf("\n", text.length - 2) + 1;
    const last = parse(text.slice(lastAt));
    await sink.write(last.type === "end" ? text : text.slice(0, lastAt));
    if (last.type === "end") {
      await sink.end();
      say(`Read ${totalOf(last)} records of the deployment.`);
      return;
    }
    ({ cursor } = last);
    if (request % SAID_EVERY === 0) say(`${request} answers so far …`);
  }
}

function parse(line: string): End | { type: "continue"; cursor: string } {
  const value = line.endsWith("\n") ? (JSON.parse(line) as { type: string }) : { type: "" };
  if (value.type === "end" || value.type === "continue") return value as ReturnType<typeof parse>;
  throw new UserError("The answer broke off: its last line is neither the end nor a cursor. Export again.");
}
