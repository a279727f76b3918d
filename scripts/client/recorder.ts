import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { listen } from "../shared/ports.ts";

/** A request as it arrived, without what each tool adds of its own. */
export interface Recorded {
  method: string;
  url: string;
  authorization: string | undefined;
  body: unknown;
}

/** What was sent: JSON, or the fields of a form with the texts of its files. */
async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const type = request.headers["content-type"] ?? "";
  const sent = new Response(Readable.toWeb(request) as ReadableStream, { headers: { "content-type": type } });
  if (!type.startsWith("multipart/form-data")) {
    const text = await sent.text();
    return text === "" ? undefined : JSON.parse(text);
  }
  const fields = [...(await sent.formData())].map(async ([name, value]) => [name, typeof value === "string" ? value : await value.text()]);
  return Object.fromEntries((await Promise.all(fields)) as [string, string][]);
}

/** A service on the loopback that answers every request with an empty list, or an empty stream where one is asked for. */
export async function startRecorder() {
  const recorded: Recorded[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await bodyOf(request);
    recorded.push({ method: request.method!, url: request.url!, authorization: request.headers.authorization, body });
    const streams = request.url!.endsWith("/stream") || (body as { stream?: boolean } | undefined)?.stream;
    if (streams) response.setHeader("Content-Type", "text/event-stream").end("id: 0\nevent: done\ndata: {}\n\n");
    else response.setHeader("Content-Type", "application/json").end(`{"data":[],"has_more":false}`);
  };
  const server = createServer((request, response) => void answer(request, response));
  return {
    origin: await listen(server),
    /** What came since it was last asked. */
    take: () => recorded.splice(0),
    close: () => void server.close(),
  };
}
