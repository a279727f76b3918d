import { availableParallelism } from "node:os";
import { join } from "node:path";
import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-pool-workers";
import { defineConfig, type Plugin } from "vitest/config";
import { BaseSequencer, type Reporter, type TestSpecification } from "vitest/node";
import { unstable_readConfig as readConfig } from "wrangler";
import { buildWeb } from "./scripts/web.ts";
import { answerOutbound } from "./test/outbound-server.ts";
import { findChromium } from "./test/web/chromium.ts";

// Wrangler would warn of secrets that are missing, though the tests bind their own.
process.env["WRANGLER_LOG"] ??= "error";

/** Ends the output with one plain line for programs that read it. */
const closingLine: Reporter = {
  onTestRunEnd(modules) {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const count = (state: string) => tests.filter((test) => test.result().state === state).length;
    console.log(`${count("passed")} passed, ${count("failed")} failed`);
  },
};

/** Starts the files that take longest first, so that no worker is left with one of them at the end. */
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => Number(/\/test\/(?:faults|web)\//.test(moduleId));
    return (await super.sort(files)).toSorted((one, other) => isLong(other) - isLong(one));
  }
}

/** Only a test that hangs reaches these limits, also on a busy machine: the bench measures times, not the tests. */
const TIMEOUTS = { testTimeout: 120_000, hookTimeout: 120_000, expect: { poll: { timeout: 30_000 } } };

/**
 * Turns each dynamic import of the service into a static one. Vitest fetches a module that is imported dynamically from its server,
 * and concurrent requests to the service that do so wait for each other until the runtime cancels them. The tests in browsers run the
 * service as it is built.
 */
const staticImports: Plugin = {
  name: "static-imports",
  transform(code, id) {
    if (!id.startsWith(join(import.meta.dirname, "src"))) return;
    const imports: string[] = [];
    const changed = code.replaceAll(/\bimport\(("[^"]+")\)/g, (_, path: string) => `Promise.resolve(later${imports.push(path)})`);
    return [changed, ...imports.map((path, at) => `import * as later${at + 1} from ${path};`)].join("\n");
  },
};

const { consumers } = readConfig({ config: "./wrangler.toml" }).queues;

const BROWSER_TESTS = "test/web/**";

/** The tests of faults wait most of their time, so two cores have work for four workers. */
const maxWorkers = Math.max(4, availableParallelism());

/** Tests of the service, which run in workerd. */
const service = async () => ({
  extends: false as const,
  plugins: [
    staticImports,
    cloudflareTest({
      remoteBindings: false,
      // The runtime would report each connection that a test cuts and each object that it lets fail.
      verbose: false,
      wrangler: { configPath: "./wrangler.toml" },
      miniflare: {
        compatibilityFlags: ["service_binding_extra_handlers"],
        // A second database, so that everything is tried with more than one: the shards 0 and 1 have one each, and there are no others.
        // SPARE has no shard: tests that need a third database bind it as DB_2.
        d1Databases: { DB: "database-0", DB_1: "database-1", SPARE: "database-2" },
        // A bucket, which tests bind as ATTACHMENTS.
        r2Buckets: ["TEST_BUCKET"],
        // A stand-in answers the service's requests to other hosts: see test/outbound.ts.
        outboundService: { node: answerOutbound },
        // The queues deliver seldom, since nothing handles their messages: see test/queue-handler.ts.
        queueConsumers: Object.fromEntries(consumers!.map(({ queue }) => [queue, { maxBatchTimeout: 60, maxBatchSize: 100 }])),
        bindings: {
          TEST_MIGRATIONS: await readD1Migrations("./migrations"),
          SHARD_MAP: "0=DB, 1=DB_1",
          // Only the tests of group commit gather batches, since the calls of others are counted.
          GROUP_COMMIT_AFTER_MS: "60000",
          OPERATOR_TOKEN: "test-operator-token",
          KEY_SECRET: "test-key-secret",
          ENCRYPTION_KEY: "test-encryption-key",
          // Only the tests of the encoder compute vectors, which others would have to wait for.
          ENCODE_SENTENCES: "false",
          // Crawls do not wait between pages.
          CRAWL_PAUSE_MS: "0",
        },
      },
    }),
  ],
  test: {
    name: "service",
    ...TIMEOUTS,
    include: ["test/**/*.test.ts"],
    exclude: [BROWSER_TESTS],
    isolate: false,
    maxWorkers,
    setupFiles: ["./test/setup.ts"],
  },
});

/** Tests of the widget and the console, which run in Chromium against the service as `npm run dev` starts it. */
const browser = {
  extends: false as const,
  test: {
    name: "browser",
    ...TIMEOUTS,
    include: [`${BROWSER_TESTS}/*.test.ts`],
    isolate: false,
    maxWorkers,
    globalSetup: ["./test/web/service.ts"],
  },
};

export default defineConfig(async () => {
  await buildWeb();
  const hasBrowser = findChromium() !== undefined;
  if (!hasBrowser && process.env["CI"]) throw new Error("CI runs the tests in test/web too: install Chromium, or set CHROMIUM_PATH.");
  if (!hasBrowser) console.log("No Chromium was found, so the tests in test/web are skipped: install one, or set CHROMIUM_PATH.");
  return {
    test: {
      taskTitleValueFormatTruncate: 0,
      sequence: { sequencer: LongFirst },
      reporters: ["default", closingLine],
      maxWorkers,
      projects: [service, ...(hasBrowser ? [browser] : [])],
    },
  };
});
