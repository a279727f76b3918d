import { readdirSync, readFileSync } from "node:fs";

const PAGE_BYTES = 4096;

/** How much memory the workerd processes that this one started hold, in MB. Undefined where the system has no /proc. */
export function workerdMegabytes(): number | undefined {
  try {
    const bytes = readdirSync("/proc").map((pid) => (/^\d+$/.test(pid) ? residentBytes(pid) : 0));
    return Math.round(bytes.reduce((sum, each) => sum + each, 0) / 1e6);
  } catch {
    return undefined;
  }
}

function residentBytes(pid: string): number {
  try {
    // The name stands in brackets and may hold anything; what follows it is the state and the parent.
    const [, name, rest] = /\((.*)\) (.*)/s.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
    if (name !== "workerd" || rest?.split(" ")[1] !== String(process.pid)) return 0;
    return Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * PAGE_BYTES;
  } catch {
    return 0;
  }
}
