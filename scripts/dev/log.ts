/*
 * What `npm run dev` shows of wrangler's output: the service's JSON log as one short line each, wrangler's errors and its
 * notices of reloads. Its tables of bindings and its own request lines are left out.
 */

/** The fields of a log line that its short form contains. */
interface Entry {
  event: string;
  method?: string;
  route?: string | null;
  status?: number;
  error_code?: string | null;
  job?: string;
  outcome?: string;
  duration_ms?: number;
  [field: string]: unknown;
}

export interface LogFilter {
  /** Whether requests and jobs that succeed are shown; not while the demo is created. Problems are always shown. */
  isVerbose: boolean;
  /** The text to print for a line of wrangler's output; undefined for nothing. */
  show: (line: string, stream: "stdout" | "stderr") => string | undefined;
}

// oxlint-disable-next-line no-control-regex -- escape sequences begin with a control character
const ANSI = /\u001b\[[\d;]*m/g;
const NOISE = [
  /^Using secrets defined in /,
  /^⎔ (?:Starting local server|Connection status)/,
  /^\[wrangler:info\]/,
  /^\[custom build\] (?:(?:Running|Built)\b.*)?$/,
];
/** Notices of several lines that are left out: their first line, and the lines that belong to it. */
const NOISY_BLOCKS: { start: RegExp; continues: RegExp }[] = [
  { start: /^Attaching additional modules:/, continues: /^[┌│├└]/ },
  { start: /^Your Worker has access to the following bindings:/, continues: /\S/ },
  // wrangler's own view of a build that failed, after what the build said.
  { start: /Process exited with non-zero status/, continues: /^(?:\s|$)/ },
  { start: /Scheduled Workers are not automatically triggered/, continues: /^(?:\s|$)/ },
];
/** A job that runs each minute. */
const SWEEP = "sweep";
/** Fields that are in the short line already, or that only a log store needs. */
const LEFT_OUT = new Set(["event", "surface", "object_hops", "d1_trips", "rows_read", "rows_written"]);

/** @param isJson passes the service's log lines on as they are. */
export function createLogFilter({ isJson }: { isJson: boolean }): LogFilter {
  let skipped: RegExp | undefined;
  let wasShown = false;
  const show = (line: string, stream: "stdout" | "stderr"): string | undefined => {
    const plain = line.replaceAll(ANSI, "");
    if (skipped?.test(plain)) return undefined;
    skipped = NOISY_BLOCKS.find(({ start }) => start.test(plain))?.continues;
    if (skipped || NOISE.some((pattern) => pattern.test(plain))) return undefined;
    const entry = parseEntry(plain);
    if (!entry) return plain === "" && !wasShown ? undefined : line;
    const isProblem = stream === "stderr" || (entry.status ?? 0) >= 500;
    if (!isProblem && (!filter.isVerbose || (entry.job === SWEEP && !isJson))) return undefined;
    return isJson ? plain : formatEntry(entry, isProblem, new Date());
  };
  const filter: LogFilter = {
    isVerbose: false,
    show: (line, stream) => {
      const shown = show(line, stream);
      // An empty line belongs to the notice before it.
      wasShown = shown !== undefined && shown !== "";
      return shown;
    },
  };
  return filter;
}

function parseEntry(line: string): Entry | undefined {
  if (!line.startsWith('{"event":')) return undefined;
  try {
    return JSON.parse(line) as Entry;
  } catch {
    return undefined;
  }
}

/** A log line in its short form, such as `14:02:11 POST /api/v1/agents/:agent_id/messages 200 41 ms`; a problem has all its fields. */
export function formatEntry(entry: Entry, isProblem: boolean, at: Date): string {
  const time = at.toTimeString().slice(0, 8);
  const { event, method, route, status, error_code: errorCode, job, outcome, duration_ms: durationMs } = entry;
  const took = durationMs === undefined ? [] : [`${durationMs} ms`];
  if (event === "request") {
    const failed = errorCode ? [errorCode, `request ${String(entry["request_id"])}`] : [];
    return [time, method, route ?? "(no route)", status, ...took, ...failed].join(" ");
  }
  if (event === "job" && !isProblem) return [time, job, outcome, ...took].join(" ");
  const fields = Object.entries(entry).filter(([name, value]) => !LEFT_OUT.has(name) && value !== null && value !== undefined);
  const details = fields.map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`);
  return [time, ...(isProblem ? ["PROBLEM"] : []), event, ...details].join(" ").replaceAll(/\s*\n\s*/g, " | ");
}
