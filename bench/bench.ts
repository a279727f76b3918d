import { parseArgs } from "node:util";
import { errorText, UserError, withUsage } from "../scripts/shared/cli.ts";
import { benchAbuse } from "./abuse/abuse.ts";
import { benchConsole } from "./console.ts";
import { benchCrawl } from "./crawl.ts";
import { benchLimits } from "./limits.ts";
import { benchOperations } from "./operations.ts";
import { publishReport, type Report } from "./report.ts";
import { benchChunks } from "./scale/chunks.ts";
import { benchScale } from "./scale/scale.ts";
import { temporaryDirectory } from "./service.ts";
import { benchStreams } from "./streams.ts";
import { benchVectors } from "./vectors.ts";
import { benchWebhooks } from "./webhooks.ts";
import { benchWidget } from "./widget.ts";
import { benchWorld } from "./world.ts";

const USAGE = `npm run bench [-- FLAGS]: how fast the built service is on this machine.

  (none)         each operation against its floor, a bare worker that makes the same hops; some two and a half minutes
  --only NAMES   only these operations, such as me,ask
  --webhooks     what an event costs, and how soon its endpoints have it
  --widget       what the chat costs a website, and how quickly it is there, in Chromium
  --console      how quickly the console of a busy workspace answers to a hand, in Chromium
  --stream       streamed answers against the model that writes them
  --crawl        how quickly websites are read, and with how much memory
  --limits       how many asks a second the gate, the index and the database of one workspace take
  --vectors      how long a search of an agent's vectors takes, and what it misses
  --abuse        what a stranger and a tenant can do to others at most; some three minutes
                 (with --only writes, neighbours or memory: this part)
  --world        how long requests take far from the data, with and without a region; some four minutes
  --scale        a large workspace against a small one; some ten minutes
  --chunks       a search of a large agent's knowledge against one of a small one's; some ten minutes
  --small N, --large N  their sizes, in conversations or chunks (1000, 1000000)
  --seconds N    the length of one round
  --json FILE    also writes the figures to a file`;

/** A round of the operations; with nine operations, two sides, builds and warm-up some two and a half minutes. */
const ROUND_SECONDS = 0.6;
/** A round of `--scale`: with its loading some ten minutes. */
const SCALE_ROUND_SECONDS = 0.3;
/** Fewer conversations have no page in the middle of the list, and no visitor with a hundred of them. */
const MIN_CONVERSATIONS = 200;

const FLAGS = {
  seconds: { type: "string" },
  only: { type: "string", multiple: true },
  json: { type: "string" },
  webhooks: { type: "boolean" },
  stream: { type: "boolean" },
  widget: { type: "boolean" },
  console: { type: "boolean" },
  crawl: { type: "boolean" },
  vectors: { type: "boolean" },
  limits: { type: "boolean" },
  abuse: { type: "boolean" },
  world: { type: "boolean" },
  scale: { type: "boolean" },
  chunks: { type: "boolean" },
  small: { type: "string", default: "1000" },
  large: { type: "string", default: "1000000" },
  help: { type: "boolean", short: "h" },
} as const;

function readFlags() {
  const { values } = withUsage(USAGE, () => parseArgs({ options: FLAGS }));
  const seconds = Number(values.seconds ?? (values.scale ? SCALE_ROUND_SECONDS : ROUND_SECONDS));
  if (!(seconds > 0)) throw new UserError("--seconds takes a number above zero: the length of one round.");
  const sizes = { small: Number(values.small), large: Number(values.large) };
  if (!Object.values(sizes).every((size) => Number.isInteger(size) && size >= MIN_CONVERSATIONS)) {
    throw new UserError(`--small and --large take a number of conversations or chunks, at least ${MIN_CONVERSATIONS}.`);
  }
  return { ...values, ...sizes, seconds, only: values.only?.flatMap((names) => names.split(",")) };
}

async function run(flags: ReturnType<typeof readFlags>): Promise<Report> {
  const directory = await temporaryDirectory("bench-");
  console.error("Building …");
  if (flags.webhooks) return benchWebhooks(directory);
  if (flags.widget) return benchWidget();
  if (flags.console) return benchConsole();
  if (flags.stream) return benchStreams(directory);
  if (flags.crawl) return benchCrawl();
  if (flags.vectors) return benchVectors(directory);
  if (flags.limits) return benchLimits(directory);
  if (flags.abuse) return benchAbuse(directory, flags.only);
  if (flags.world) return benchWorld(directory);
  if (flags.chunks) return benchChunks(directory, flags);
  if (flags.scale) return benchScale(directory, flags);
  return benchOperations(directory, flags);
}

async function main(): Promise<void> {
  const flags = readFlags();
  if (flags.help) return console.log(USAGE);
  await publishReport(await run(flags), flags.json);
}

main().catch((error: unknown) => {
  console.error(errorText(error));
  process.exit(1);
});
