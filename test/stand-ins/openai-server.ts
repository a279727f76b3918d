// `node test/stand-ins/openai-server.ts --port 9170`: the stand-in for `npm run dev -- --var OPENAI_BASE_URL:http://127.0.0.1:9170/v1 --var OPENAI_MODEL:answer`.
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { parseArgs } from "node:util";
import { OpenAiStandIn } from "./openai.ts";
import { MODELS, scenarioOf } from "./scenarios.ts";

const { values } = parseArgs({ options: { port: { type: "string", default: "9170" } } });
const standIn = new OpenAiStandIn(scenarioOf);

const server = createServer((request, response) => {
  const stopped = new AbortController();
  response.on("close", () => stopped.abort(new Error("The client is gone")));
  void (async () => {
    if (request.method === "GET") {
      response.writeHead(request.url === "/v1/models" ? 200 : 404, { "Content-Type": "application/json" });
      return response.end(JSON.stringify({ object: "list", data: MODELS.map((id) => ({ id, object: "model", owned_by: "stand-in" })) }));
    }
    const chunks = await request.toArray();
    const body = Buffer.concat(chunks as Buffer[]);
    const headers = { authorization: request.headers.authorization ?? "" };
    const answer = await standIn.fetch(`http://localhost${request.url}`, { method: "POST", headers, body, signal: stopped.signal });
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (!answer.body) return response.end();
    response.flushHeaders();
    await pipeline(Readable.fromWeb(answer.body as never), response);
  })().catch(() => response.destroy());
});

server.listen(Number(values.port), "127.0.0.1", () => console.log(`The stand-in listens on http://127.0.0.1:${values.port}/v1`));
