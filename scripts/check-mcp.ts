// `npm run check:mcp`: runs the conformance suite of the Model Context Protocol against /mcp of a service that it starts.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, request } from "node:http";
import { join } from "node:path";
import { startService } from "./docs/service.ts";
import { ROOT, SIGNAL_EXIT_CODES } from "./shared/cli.ts";
import { listen } from "./shared/ports.ts";

const SUITE = join(ROOT, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js");
/** Scenarios that need what the service does not have: tools of the suite's own, resources, prompts, logging, completion. */
const NOT_OFFERED = join(ROOT, "scripts", "mcp-not-offered.yml");

// The suite asks no questions, so the demo's knowledge needs no vectors.
const service = startService({ ENCODE_SENTENCES: "false" });
const proxy = createServer();
for (const [signal, code] of Object.entries(SIGNAL_EXIT_CODES)) process.once(signal, () => void stop().then(() => process.exit(code)));
try {
  const { SUPPORT_URL, SUPPORT_KEY } = await service.variables;
  const url = await addKeyTo(new URL(SUPPORT_URL!), SUPPORT_KEY!);
  const args = [SUITE, "server", "--url", `${url}/mcp`, "--expected-failures", NOT_OFFERED];
  const suite = spawn(process.execPath, args, { stdio: "inherit" });
  const [code] = (await once(suite, "exit")) as [number | null];
  process.exitCode = code ?? 1;
} finally {
  await stop();
}

/** Passes requests on as they are, with the key, which the suite cannot send. Returns the URL of the proxy. */
async function addKeyTo({ hostname, port }: URL, key: string): Promise<string> {
  proxy.on("request", (incoming, outgoing) => {
    const { method, url: path, headers } = incoming;
    const options = { hostname, port, method, path, headers: { ...headers, authorization: `Bearer ${key}` } };
    const passed = request(options, (response) => {
      outgoing.writeHead(response.statusCode!, response.headers);
      response.pipe(outgoing);
    });
    passed.on("error", () => outgoing.destroy());
    incoming.pipe(passed);
  });
  return await listen(proxy);
}

async function stop(): Promise<void> {
  proxy.close();
  await service.stop();
}
