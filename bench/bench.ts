import { parseArgs } from "node:util";
import { runMain, UserError, withUsage } from "../scripts/shared/cli.ts";
import { benchAbuse } from "./abuse/abuse.ts";
import { benchCommits } from "./commits.ts";
import { benchConsole } from "./console.ts";
import { benchCrawl } from "./crawl.ts";
import { benchLimits } from "./limits.ts";
import { benchOperations } from "./operations.ts";
import { publishReport, type Report } from "./report.ts";
import { benchChunks } from "./scale/chunks.ts";
import { benchScale } from "./scale/scale.ts";
import { useTemporaryFolder } from "./service.ts";
import { benchStreams } from "./streams.ts";
import { benchTeamInbox } from "./team-inbox.ts";
import { benchVectors } from "./vectors.ts";
import { benchWebhooks } from "./webhooks.ts";
import { benchWidget } from "./widget.ts";
import { benchWorld } from "./world.ts";

const USAGE = `npm run bench [-- FLAGS]: how fast the built service is on this machine.

  (none)         each operation against its floor, a bare worker that makes the same hops; about three minutes
  --only NAMES   only these operations, such as me,ask
  --webhooks     what an event costs, and how soon its endpoints receive it
  --widget       what the chat costs a website, and how quickly it opens, in Chromium
  --console      how quickly the console of a busy workspace responds, in Chromium
  --team-inbox   eight members of a team work on 200 conversations, each in a browser; it checks what the API has afterwards
  --stream       streamed answers against the model that writes them
  --crawl        how quickly websites are read, and with how much memory
  --limits       how many questions a second the gate, the index and the database of one workspace take
  --commits      questions of a workspace whose database commits slowly, with and without group commit
  --vectors      how long a search of an agent's vectors takes, and what it misses
  --abuse        what a stranger and a tenant can do to others at most; about fifteen minutes
                 (with --only writes, neighbours, memory or files: this part); it fails when a file breaks a bound
  --file TEXT    only its hostile files with this text in their names
  --seed N       the seed of its random files (1)
  --world        how long requests take far from the data, with and without a region; about four minutes
  --scale        a large workspace against a small one; about fifteen minutes
  --chunks       a search of a large agent's knowledge against one of a small one's; about ten minutes
  --small N, --large N  their sizes, in conversations or chunks (1000, 1000000)
  --seconds N    the length of one round
  --json FILE    also writes the figures to a file`;

/** A round of the operations, and one of `--scale`. */
const ROUND_SECONDS = 0.6;
const SCALE_ROUND_SECONDS = 0.3;
/** Smaller workspaces have no page in the middle of the list, and no visitor with a hundred conversations. */
const MIN_CONVERSATIONS = 200;

const BENCHES = {
  webhooks: benchWebhooks,
  stream: benchStreams,
  widget: benchWidget,
  console: benchConsole,
  "team-inbox": benchTeamInbox,
  crawl: benchCrawl,
  vectors: benchVectors,
  limits: benchLimits,
  commits: benchCommits,
  abuse: benchAbuse,
  world: benchWorld,
  scale: benchScale,
  chunks: benchChunks,
} satisfies Record<string, (flags: Flags) => Promise<Report>>;

const NAMES = Object.keys(BENCHES) as (keyof typeof BENCHES)[];
const SWITCHES = Object.fromEntries(NAMES.map((name) => [name, { type: "boolean" }])) as Record<keyof typeof BENCHES, { type: "boolean" }>;
const OPTIONS = {
  ...SWITCHES,
  seconds: { type: "string" },
  only: { type: "string", multiple: true },
  json: { type: "string" },
  small: { type: "string", default: "1000" },
  large: { type: "string", default: "1000000" },
  file: { type: "string", default: "" },
  seed: { type: "string", default: "1" },
  help: { type: "boolean", short: "h" },
} as const;

/** The flags that the benches read. */
export interface Flags {
  seconds: number;
  only: string[] | undefined;
  small: number;
  large: number;
  file: string;
  seed: number;
}

async function main(): Promise<void> {
  const { values } = withUsage(USAGE, () => parseArgs({ options: OPTIONS }));
  if (values.help) return console.log(USAGE);
  const seconds = Number(values.seconds ?? (values.scale ? SCALE_ROUND_SECONDS : ROUND_SECONDS));
  if (!(seconds > 0)) throw new UserError("--seconds takes a number above zero: the length of one round.");
  const sizes = { small: Number(values.small), large: Number(values.large) };
  if (!Object.values(sizes).every((size) => Number.isInteger(size) && size >= MIN_CONVERSATIONS)) {
    throw new UserError(`--small and --large take a number of conversations or chunks, at least ${MIN_CONVERSATIONS}.`);
  }
  const seed = Number(values.seed);
  if (!Number.isInteger(seed)) throw new UserError("--seed takes a whole number.");
  const flags: Flags = { ...sizes, seconds, seed, file: values.file, only: values.only?.flatMap((names) => names.split(",")) };
  const chosen = NAMES.find((name) => values[name]);
  useTemporaryFolder();
  console.error("Building …");
  await publishReport(await (chosen ? BENCHES[chosen] : benchOperations)(flags), values.json);
}

await runMain(main);
