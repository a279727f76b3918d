import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Webhook } from "standardwebhooks";
import { readBlocks } from "./blocks.ts";
import { isInstalled } from "./compile.ts";

// The guide's examples of verifying a webhook, run against signatures of the official library.

const GUIDE = readFileSync(new URL("../../docs/webhooks.md", import.meta.url), "utf8");
const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const BODY = JSON.stringify({ type: "lead.created", data: { name: "Zoë" } });

interface Delivery {
  body: string;
  headers: Record<string, string>;
  secret: string;
}

/** How to run a language's example: it reads the delivery as JSON from standard input and prints the event's type. */
const LANGUAGES: Record<string, { command: string; args: (example: string) => string[] }> = {
  ts: {
    command: process.execPath,
    args: (example) => ["--input-type=module-typescript", "--no-warnings", "--eval", `${example}\n${TYPESCRIPT_CALL}`],
  },
  python: { command: "python3", args: (example) => ["-c", `${example}\n${PYTHON_CALL}`] },
  php: { command: "php", args: (example) => ["-r", `${example}\n${PHP_CALL}`] },
};

const TYPESCRIPT_CALL = `import { readFileSync } from "node:fs";
const { body, headers, secret } = JSON.parse(readFileSync(0, "utf8"));
console.log((readEvent(body, headers, secret) as { type: string }).type);`;
const PYTHON_CALL = `import sys
d = json.load(sys.stdin)
print(read_event(d["body"].encode(), d["headers"], d["secret"])["type"])`;
const PHP_CALL = `$d = json_decode(stream_get_contents(STDIN), true);
echo read_event($d["body"], $d["headers"], $d["secret"])["type"];`;

function exampleIn(language: string): string {
  const section = GUIDE.slice(GUIDE.indexOf("## Verify a webhook signature\n"));
  const example = readBlocks("docs/webhooks.md", section).find((block) => block.language === language);
  assert(example, `The guide shows no example in ${language}`);
  return example.code;
}

function sign(at: Date, secret = SECRET, body = BODY): Delivery {
  const id = "msg_1";
  const headers = {
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
    "webhook-signature": new Webhook(secret).sign(id, at, body),
  };
  return { body, headers, secret: SECRET };
}

function run(language: string, delivery: Delivery): Promise<string> {
  const { command, args } = LANGUAGES[language]!;
  return new Promise((resolve, reject) => {
    const child = execFile(command, args(exampleIn(language)), { cwd: import.meta.dirname }, (error, stdout) =>
      error ? reject(error) : resolve(stdout.trim()),
    );
    child.stdin!.end(JSON.stringify(delivery));
  });
}

for (const [language, { command }] of Object.entries(LANGUAGES)) {
  const options = { skip: isInstalled(command) ? false : `no ${command} here` };

  void test(`the example in ${language} accepts a signed webhook, also beside another signature`, options, async () => {
    const delivery = sign(new Date());
    assert.equal(await run(language, delivery), "lead.created");
    delivery.headers["webhook-signature"] = `v1,${Buffer.alloc(32).toString("base64")} ${delivery.headers["webhook-signature"]}`;
    assert.equal(await run(language, delivery), "lead.created");
  });

  void test(`the example in ${language} refuses a wrong signature, a changed body and an old timestamp`, options, async () => {
    const other = sign(new Date(), `whsec_${Buffer.alloc(32, 8).toString("base64")}`);
    const changed = { ...sign(new Date()), body: BODY.replace("Zoë", "Eve") };
    const old = sign(new Date(Date.now() - 6 * 60_000));
    for (const delivery of [other, changed, old]) await assert.rejects(run(language, delivery));
  });
}
