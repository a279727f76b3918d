import { UserError } from "../shared/cli.ts";
import { call, type Client } from "../shared/service.ts";
import { type End, totalOf } from "./lines.ts";

/** A few megabytes: an answer is held until all of it has arrived, so that the request can be repeated. */
const PAGES_A_REQUEST = 20;
const REPORT_EVERY = 20;

/** The text of a workspace's export, one answer of the service after the other. */
export async function* readExport(operator: Client, workspaceId: string, say?: (text: string) => void): AsyncGenerator<string, void> {
  let cursor: string | undefined;
  for (let request = 1; ; request++) {
    const more = cursor === undefined ? "" : `&cursor=${cursor}`;
    const path = `/operator/v1/workspaces/${encodeURIComponent(workspaceId)}/export?pages=${PAGES_A_REQUEST}${more}`;
    const text = await call<string>(operator, "GET", path);
    const lastAt = text.lastIndexOf("\n", text.length - 2) + 1;
    const last = parse(text.slice(lastAt));
    yield last.type === "end" ? text : text.slice(0, lastAt);
    if (last.type === "end") return say?.(`Read ${totalOf(last)} records of the deployment.`);
    ({ cursor } = last);
    if (request % REPORT_EVERY === 0) say?.(`${request} answers so far …`);
  }
}

function parse(line: string): End | { type: "continue"; cursor: string } {
  const value = line.endsWith("\n") ? (JSON.parse(line) as { type: string }) : { type: "" };
  if (value.type === "end" || value.type === "continue") return value as ReturnType<typeof parse>;
  throw new UserError("The answer broke off: its last line is neither the end nor a cursor. Export again.");
}
