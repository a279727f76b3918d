import type { Browser, Page } from "playwright-core";
import { startService } from "../scripts/docs/service.ts";
import { buildWeb } from "../scripts/web.ts";
import { BUSY, restoreBusyWorkspace } from "../test/web/busy-workspace.ts";
import { droppedOf, launchChromium, measureScrolling, openSlowPage, SLOWDOWN, trace, type TraceEvent } from "./browser.ts";
import { median } from "./measure.ts";
import type { Report } from "./report.ts";

/*
 * `npm run bench -- --console`: how quickly the console of a busy workspace responds, in Chromium with its processor slowed,
 * against the service as `npm run dev` starts it.
 */

const ROUNDS = 5;
const SCROLL_STEPS = 60;
const LIST = ".conversation-list .scroll";

/** An action of a person, and its result. */
interface Step {
  label: string;
  /** Prepares the page. */
  before: (page: Page) => Promise<unknown>;
  act: (page: Page) => Promise<unknown>;
  /** The event with which the action begins. */
  event: "click" | "input" | "keydown" | "scroll";
  /** The text that an element then contains. */
  result: [selector: string, text: string];
}

const showAll = async (page: Page) => {
  await page.getByLabel("Search conversations").fill("");
  await page.getByRole("button", { name: "All", exact: true }).click();
  await page.locator(LIST).evaluate((list) => list.scrollTo(0, 0));
  await page.getByText(`Order 0:`).first().waitFor();
};
const middle = BUSY.conversations / 2;
const toMiddle = async (page: Page) => {
  await showAll(page);
  await page.locator(LIST).evaluate((list) => list.scrollTo(0, list.scrollHeight / 2));
  await page.getByRole("button", { name: `Order ${middle}:` }).waitFor();
};
const showSources = async (page: Page) => {
  await page.getByRole("link", { name: "Knowledge" }).click();
  await page.getByLabel("Search sources").fill("");
  await page.getByText("Guide 0", { exact: true }).waitFor();
};

const searchFor = (what: string, text: string): Step => ({
  label: `search for ${what}`,
  before: showAll,
  act: (page) => page.getByLabel("Search conversations").fill(text),
  event: "input",
  result: [`${LIST} mark`, text],
});

const STEPS: readonly Step[] = [
  {
    label: "scroll to the last of them",
    before: showAll,
    act: (page) => page.locator(LIST).evaluate((list) => list.scrollTo(0, list.scrollHeight)),
    event: "scroll",
    result: [LIST, `Order ${BUSY.conversations - 1}:`],
  },
  {
    label: "open one in the middle",
    before: toMiddle,
    act: (page) => page.getByRole("button", { name: `Order ${middle}:` }).click(),
    event: "click",
    result: ["[role=log]", `Order ${middle}:`],
  },
  {
    label: "the next one, by key",
    before: (page) => page.getByRole("log").waitFor(),
    act: (page) => page.keyboard.press("j"),
    event: "keydown",
    result: ["[role=log]", `Order ${middle + 1}:`],
  },
  {
    label: "another filter",
    before: showAll,
    act: (page) => page.getByRole("button", { name: "Resolved", exact: true }).click(),
    event: "click",
    result: [`${LIST} li:first-child`, "Resolved"],
  },
  searchFor("what a hundred have", "urgent"),
  searchFor("what all have", "parcel"),
  {
    label: "open the knowledge page",
    before: showAll,
    act: (page) => page.getByRole("link", { name: "Knowledge" }).click(),
    event: "click",
    result: [".sources", `Guide ${BUSY.sources - 1}`],
  },
  {
    label: "search the sources",
    before: showSources,
    act: (page) => page.getByLabel("Search sources").fill("guide 77"),
    event: "input",
    result: [".sources li:only-child", "Guide 77"],
  },
];

/** Does a step, and returns the time to the frame with its result, and the longest task of the main thread meanwhile. */
async function measure(browser: Browser, page: Page, { before, act, event, result }: Step) {
  await before(page);
  let ms = 0;
  const events = await trace(browser, page, ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"], async () => {
    const painted = await page.evaluateHandle(
      ({ event, result: [selector, text] }) => ({
        ms: new Promise<number>((resolve) => {
          const begin = ({ timeStamp }: Event) => {
            const look = () => {
              if ([...document.querySelectorAll(selector)].some(({ textContent }) => textContent.includes(text)))
                setTimeout(() => resolve(performance.now() - timeStamp));
              else requestAnimationFrame(look);
            };
            requestAnimationFrame(look);
          };
          addEventListener(event, begin, { once: true, capture: true });
        }),
      }),
      { event, result },
    );
    await act(page);
    ms = await painted.evaluate((handle) => handle.ms);
  });
  return { ms, longestMs: longestTask(events) };
}

/** Returns the longest task of the page's main thread, in CPU time, which other processes do not lengthen. */
function longestTask(events: readonly TraceEvent[]): number {
  const threads = new Set(
    events.filter(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain").map(({ pid, tid }) => `${pid} ${tid}`),
  );
  const tasks = events.filter(({ name, pid, tid }) => name === "RunTask" && threads.has(`${pid} ${tid}`));
  return Math.max(0, ...tasks.map(({ dur = 0, tdur = dur }) => tdur)) / 1000;
}

export async function benchConsole(): Promise<Report> {
  await buildWeb();
  const service = startService();
  const browser = await launchChromium();
  try {
    const { SUPPORT_URL: url = "" } = await service.variables;
    const { key } = await restoreBusyWorkspace(url, service.operatorToken());
    return await measureAll(browser, url, key);
  } finally {
    await browser.close();
    await service.stop();
  }
}

async function measureAll(browser: Browser, url: string, key: string): Promise<Report> {
  const page = await openSlowPage(browser, { viewport: { width: 1440, height: 900 } });
  await page.goto(`${url}/console/`);
  await page.getByLabel("API key or operator token").fill(key);
  await page.getByLabel("Your name").fill("Grace Hopper");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Console" }).waitFor();
  const found = new Map<Step, Awaited<ReturnType<typeof measure>>[]>(STEPS.map((step) => [step, []]));
  for (let round = 0; round < ROUNDS; round++) {
    await page.getByRole("link", { name: "Inbox" }).click();
    for (const step of STEPS) found.get(step)!.push(await measure(browser, page, step));
  }
  await page.getByRole("link", { name: "Inbox" }).click();
  await showAll(page);
  const frames = await measureScrolling(page, [LIST], SCROLL_STEPS, 120);
  const rows = await page.locator(`${LIST} li`).count();
  const size = `${BUSY.conversations} conversations, ${BUSY.sources} sources, the processor slowed ${SLOWDOWN} times`;
  const table = [...found].map(([{ label }, all]) => ({
    [size]: label,
    "to the painted result": `${median(all.map(({ ms }) => ms)).toFixed(0)} ms`,
    "longest task": `${median(all.map(({ longestMs }) => longestMs)).toFixed(0)} ms`,
  }));
  const dropped = `${droppedOf(frames)} of ${frames.length} are dropped`;
  const note = `While it is scrolled, a frame takes ${median(frames).toFixed(1)} ms, and ${dropped}; ${rows} rows are in the document.`;
  return { tables: [table], notes: [note] };
}
