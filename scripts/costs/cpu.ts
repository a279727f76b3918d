import { readdirSync, readFileSync } from "node:fs";

/** Linux counts processor time in hundredths of a second, wherever it runs today. */
const MS_A_TICK = 10;
/** Where user and system time stand behind the name of the process. */
const USER_TIME_AT = 11;

/** Processor time that the workerd processes that this one started have used, in ms. Undefined where the system has no /proc. */
export function workerdCpuMs(): number | undefined {
  try {
    const ticks = readdirSync("/proc").map((pid) => (/^\d+$/.test(pid) ? ticksOf(pid) : 0));
    return ticks.reduce((sum, each) => sum + each, 0) * MS_A_TICK;
  } catch {
    return undefined;
  }
}

function ticksOf(pid: string): number {
  try {
    // The name stands in brackets and may hold anything.
    const [, name, rest] = /\((.*)\) (.*)/s.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
    const fields = rest?.split(" ") ?? [];
    if (name !== "workerd" || fields[1] !== String(process.pid)) return 0;
    return Number(fields[USER_TIME_AT]) + Number(fields[USER_TIME_AT + 1]);
  } catch {
    return 0;
  }
}
