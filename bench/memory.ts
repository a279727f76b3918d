import { readdirSync, readFileSync } from "node:fs";

const PAGE_BYTES = 4096;
/** Linux counts processor time in hundredths of a second, wherever it runs today. */
const TICK_MS = 10;

/** How much memory the workerd processes that this one started hold, in MB. Undefined where the system has no /proc. */
export function workerdMegabytes(): number | undefined {
  const bytes = sumOfWorkerds(({ pid }) => Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * PAGE_BYTES);
  return bytes === undefined ? undefined : Math.round(bytes / 1e6);
}

/** How much of the processors' time they have used, in ms. Undefined where the system has no /proc. */
export function workerdCpuMs(): number | undefined {
  // Of the process itself and of the kernel on its behalf.
  return sumOfWorkerds(({ fields }) => (Number(fields[11]) + Number(fields[12])) * TICK_MS);
}

interface Stat {
  pid: string;
  /** What /proc/PID/stat holds behind the name, from the state on. */
  fields: string[];
}

function sumOfWorkerds(valueOf: (stat: Stat) => number): number | undefined {
  try {
    const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    return pids.reduce((sum, pid) => sum + valueOfWorkerd(pid, valueOf), 0);
  } catch {
    return undefined;
  }
}

function valueOfWorkerd(pid: string, valueOf: (stat: Stat) => number): number {
  try {
    // The name stands in brackets and may hold anything; what follows it is the state and the parent.
    const [, name, rest = ""] = /\((.*)\) (.*)/s.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
    const fields = rest.split(" ");
    return name === "workerd" && fields[1] === String(process.pid) ? valueOf({ pid, fields }) : 0;
  } catch {
    return 0;
  }
}
