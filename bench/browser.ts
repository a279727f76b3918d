import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { UserError } from "../scripts/shared/cli.ts";
import { findChromium } from "../test/web/chromium.ts";

/** How many times slower a visitor's processor is than this one. */
export const SLOWDOWN = 4;
const FRAME_MS = 1000 / 60;
/** A frame that takes longer counts as dropped. */
const DROPPED_MS = FRAME_MS * 1.5;

export function launchChromium(): Promise<Browser> {
  const executablePath = findChromium();
  if (!executablePath) throw new UserError("No Chromium was found: install one, or set CHROMIUM_PATH.");
  return chromium.launch({ executablePath, args: ["--no-sandbox"] });
}

/** Opens a page whose processor is slowed. */
export async function openSlowPage(browser: Browser, options: BrowserContextOptions = {}): Promise<Page> {
  const page = await browser.newPage(options);
  await slowDown(page);
  return page;
}

export async function slowDown(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send("Emulation.setCPUThrottlingRate", { rate: SLOWDOWN });
}

/** An event of the browser's own trace. */
export interface TraceEvent {
  name: string;
  cat: string;
  pid: number;
  tid: number;
  /** Microseconds: when it began, how long it took, and how much CPU time of its thread. */
  ts: number;
  dur?: number;
  tdur?: number;
  args: { data?: { url?: string }; url?: string; name?: string };
}

/** Returns what the browser traces while the work is done. */
export async function trace(browser: Browser, page: Page, categories: string[], work: () => Promise<unknown>): Promise<TraceEvent[]> {
  await browser.startTracing(page, { categories });
  await work();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] };
  return traceEvents;
}

/** Returns the events that do not lie within another one. */
export function outermost(events: readonly TraceEvent[]): TraceEvent[] {
  let endsAt = 0;
  return events
    .toSorted((one, other) => one.ts - other.ts)
    .filter(({ ts, dur = 0 }) => {
      const isOuter = ts >= endsAt;
      if (isOuter) endsAt = ts + dur;
      return isOuter;
    });
}

/**
 * Returns the times between frames while an element is scrolled by steps of a notch of the wheel.
 * @param path selectors, each but the first one within the shadow root of the one before.
 */
export async function measureScrolling(page: Page, path: string[], steps: number, notch: number): Promise<number[]> {
  return page.evaluate(
    ({ path, steps, notch }) =>
      new Promise<number[]>((resolve) => {
        let scroller = document.querySelector(path[0]!)!;
        for (const selector of path.slice(1)) scroller = scroller.shadowRoot!.querySelector(selector)!;
        const found: number[] = [];
        let lastMs = performance.now();
        const step = (nowMs: number) => {
          found.push(nowMs - lastMs);
          lastMs = nowMs;
          scroller.scrollBy(0, notch);
          if (found.length < steps) requestAnimationFrame(step);
          else resolve(found.slice(2));
        };
        requestAnimationFrame(step);
      }),
    { path, steps, notch },
  );
}

/** Returns how many of the frames were dropped, by the times between them. */
export function droppedOf(frames: readonly number[]): number {
  return frames.filter((ms) => ms > DROPPED_MS).length;
}
