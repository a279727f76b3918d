import { build, serve } from "./serve.ts";
import { load, send } from "./load.ts";
const b = await build("scripts/bench/floor.toml", "floor.js", "/tmp/ws/floor");
const s = await serve(b, {});
console.log("port", s.port);
await send(s.port, { method: "POST", path: "/seed", status: 200 });
const post = { method: "POST", body: { message: "How long is a sentence?", question: "How long?", answer: "Long" } };
for (const [p, r] of [["/rpc", {}], ["/rpc-read/agents", {}], ["/rpc-read/agent", {}], ["/rpc-read/usage", {}], ["/rpc-read/sources", {}], ["/rpc-read/conversation", {}], ["/search", {}], ["/rpc-write", post], ["/ask", post]] as const) {
  const req = { method: "GET", path: p, status: 200, ...r };
  await send(s.port, req);
  await load(s.port, req, 16, 0.5);
  const cpu = process.cpuUsage();
  const round = await load(s.port, req, 16, 2);
  const used = process.cpuUsage(cpu);
  const n = round.latenciesMs.length;
  console.log(p, Math.round(round.requestsPerSecond), round.latenciesMs[n >> 1].toFixed(2), round.latenciesMs[Math.floor(n * .99)].toFixed(2), round.failures, "gen cpu us/req", ((used.user + used.system) / n).toFixed(1));
}
await s.close();
