import { createExecutionContext, createMessageBatch, createScheduledController, getQueueResult } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import worker from "../../src/index.ts";
import { configProblems } from "../../src/platform/config.ts";
import { createAgent, createWorkspace, envWith, learn, query } from "../harness.ts";
import { handleQueue } from "../queue-handler.ts";

const LONG = "a-random-secret-of-more-than-32-characters";
/** A text that no message holds by itself. */
const SECRET = "zq7";

const PRODUCTION = {
  ENVIRONMENT: "production",
  ALLOW_PRIVATE_TARGETS: "false",
  OPERATOR_TOKEN: LONG,
  KEY_SECRET: LONG,
  ENCRYPTION_KEY: LONG,
  OPENAI_MODEL: "small",
};

afterEach(() => {
  vi.restoreAllMocks();
});

describe("each value", () => {
  test.each([
    ["ENVIRONMENT", "staging"],
    ["ENVIRONMENT", ""],
    ["ENVIRONMENT", undefined],
    ["ALLOW_PRIVATE_TARGETS", "yes"],
    ["ALLOW_PRIVATE_TARGETS", "true"],
    ["ALLOW_PRIVATE_TARGETS", false],
    ["OPERATOR_TOKEN", SECRET],
    ["OPERATOR_TOKEN", `${LONG},${SECRET}`],
    ["HEALTH_TOKEN", `${LONG},${SECRET}`],
    ["KEY_SECRET", undefined],
    ["KEY_SECRET", " , "],
    ["KEY_SECRET", SECRET],
    ["KEY_SECRET", `${SECRET},${LONG}`],
    ["ENCRYPTION_KEY", ""],
    ["ENCRYPTION_KEY", SECRET.repeat(10)],
    ["OPENAI_BASE_URL", "api.example.com/v1"],
    ["OPENAI_BASE_URL", "file:///etc/passwd"],
    ["OPENAI_API_KEY", `${SECRET}\n`],
    ["OPENAI_EMBEDDING_MODEL", "small"],
    ["OPENAI_EMBEDDING_DIMENSIONS", "0"],
    ["OPENAI_EMBEDDING_DIMENSIONS", "1537"],
    ["OPENAI_EMBEDDING_DIMENSIONS", "1e3"],
    ["MAX_EMBEDDED_VECTORS", "100001"],
    ["AI_GATEWAY_ID", "https://gateway.ai.cloudflare.com/v1/account/gateway"],
    ["MAIL_FROM", "Support <sign-in@example.com>"],
    ["MAIL_FROM", "sign-in@example.com, eve@example.com"],
    ["ACCESS_TEAM_DOMAIN", "https://example.cloudflareaccess.com"],
    ["ACCESS_TEAM_DOMAIN", "cloudflareaccess.com.evil.org"],
    ["ACCESS_TEAM_DOMAIN", "example.cloudflareaccess.com"],
    ["ACCESS_AUD", "the-application"],
    ["DNS_OVER_HTTPS_URL", "http://127.0.0.1/dns-query"],
    ["DNS_OVER_HTTPS_URL", "1.1.1.1"],
    ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "ftp://otlp.example.com"],
    ["OTEL_EXPORTER_OTLP_HEADERS", "secret"],
    ["CRAWL_PAUSE_MS", "a moment"],
    ["CRAWL_PAUSE_MS", "-1"],
    ["CRAWL_PAUSE_MS", "60001"],
    ["CRAWL_PAUSE_MS", 250],
    ["CLOSED_DATABASES", "DB_1"],
    ["CLOSED_DATABASES", "0;1"],
    ["CLOSED_DATABASES", "256"],
    ["GROUP_COMMIT_AFTER_MS", "soon"],
    ["GROUP_COMMIT_AFTER_MS", "60001"],
    ["SHARD_MAP", "DB"],
    ["SHARD_MAP", "0-256=DB"],
    ["SHARD_MAP", "0-10=DB, 10=DB_1"],
    ["SHARD_MAP", "3-1=DB"],
    ["SHARD_MAP", "0-255=DB_256"],
    ["SHARD_REGIONS", "0=eu"],
    ["VECTORS_ROUND", "two"],
    ["RERANK_PASSAGES", "on"],
    ["ENCODE_SENTENCES", "off"],
  ])("%s = %j is refused with a message that names the variable and not its value", (name, value) => {
    const problems = configProblems({ ...PRODUCTION, [name]: value });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(new RegExp(`^${name} .+\\. .+\\.$|^${name} .+: .+\\.$`));
    expect(problems[0]).not.toContain(SECRET);
  });

  test.each([
    [{}],
    [{ OPERATOR_TOKEN: undefined, HEALTH_TOKEN: "" }],
    [{ OPERATOR_TOKEN: `${LONG},${LONG}2`, KEY_SECRET: `${LONG},old`, ENCRYPTION_KEY: ` ${LONG} , old` }],
    [{ OPENAI_BASE_URL: "http://127.0.0.1:11434/v1", OPENAI_MODEL: "small", OPENAI_API_KEY: "sk-1_2/3=" }],
    [
      {
        OPENAI_BASE_URL: "https://api.example.com/v1",
        OPENAI_MODEL: "s",
        OPENAI_EMBEDDING_MODEL: "e",
        OPENAI_EMBEDDING_DIMENSIONS: "1536",
      },
    ],
    [{ OPENAI_BASE_URL: "http://127.0.0.1:11434/v1", OPENAI_MODEL: "", OPENAI_EMBEDDING_MODEL: "e", MAX_EMBEDDED_VECTORS: "0" }],
    [{ AI_GATEWAY_ID: "support-agent_1", DNS_OVER_HTTPS_URL: "", CRAWL_PAUSE_MS: "0", VECTORS_ROUND: "12", RERANK_PASSAGES: "true" }],
    [{ MAIL_FROM: "sign-in@mail.example.com", ACCESS_TEAM_DOMAIN: "example.cloudflareaccess.com", ACCESS_AUD: "0f".repeat(32) }],
    [{ ENVIRONMENT: "development", ALLOW_PRIVATE_TARGETS: "true", KEY_SECRET: "short", ENCRYPTION_KEY: "short", OPERATOR_TOKEN: "short" }],
  ])("%j is a valid configuration", (values) => {
    expect(configProblems({ ...PRODUCTION, ...values })).toEqual([]);
  });

  test("every problem is reported, and a server needs a model", () => {
    const problems = configProblems({
      ...PRODUCTION,
      OPENAI_BASE_URL: "https://api.example.com/v1",
      OPENAI_MODEL: "",
      CRAWL_PAUSE_MS: "soon",
    });
    expect(problems.map((problem) => problem.split(" ")[0])).toEqual(["OPENAI_MODEL", "CRAWL_PAUSE_MS"]);
  });

  test("the development configuration is valid", () => {
    expect(configProblems(env)).toEqual([]);
  });
});

describe("while a value is invalid", () => {
  const invalidEnv = () => envWith({ CRAWL_PAUSE_MS: "a moment" });
  const logged = (log: { mock: { calls: unknown[][] } }) => log.mock.calls.map(([line]) => String(line)).join("\n");

  test("a batch of messages is retried later, and the log names the variable", async () => {
    const log = vi.spyOn(console, "error");
    const body = { source_id: crypto.randomUUID(), workspace_id: crypto.randomUUID() };
    const batch = createMessageBatch("support-agent-ingestion", [{ id: "1", timestamp: new Date(), attempts: 1, body }]);
    await handleQueue(batch, invalidEnv());
    expect(await getQueueResult(batch, createExecutionContext())).toMatchObject({ retryBatch: { retry: true }, explicitAcks: [] });
    expect(logged(log)).toContain("CRAWL_PAUSE_MS");
  });

  test("a mail is rejected so that its sender's server tries again, and the log names the variable", async () => {
    const log = vi.spyOn(console, "error");
    const untouched = {} as ForwardableEmailMessage;
    await expect(worker.email(untouched, invalidEnv())).rejects.toThrow(/configuration is invalid/);
    expect(logged(log)).toContain("CRAWL_PAUSE_MS");
  });

  test("cron changes nothing, and the log names the variable", async () => {
    const workspace = await createWorkspace();
    const agent = await createAgent(workspace);
    await learn(workspace, agent.id, "# Opening hours\n\nThe shop in Graz is open from 9 to 18 on weekdays.");
    const { body: asked } = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "When is the shop in Graz open?" });
    const inFortyDays = { scheduledTime: new Date(Date.now() + 40 * 24 * 3_600_000) };
    const status = async () => (await query(workspace.id, "SELECT status FROM conversations WHERE id = ?", asked.conversation_id))[0];
    const before = await status();
    const log = vi.spyOn(console, "error");
    await worker.scheduled(createScheduledController(inFortyDays), invalidEnv());
    expect(await status()).toEqual(before);
    expect(logged(log)).toContain("CRAWL_PAUSE_MS");
    await worker.scheduled(createScheduledController(inFortyDays), env);
    expect(await status()).toEqual({ status: "resolved" });
  });
});
