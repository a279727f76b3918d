import { setTimeout as sleep } from "node:timers/promises";
import type { Browser, Page } from "playwright-core";
import { startService } from "../scripts/docs/service.ts";
import { buildWeb } from "../scripts/web.ts";
import { droppedOf, launchChromium, measureScrolling, openSlowPage, outermost, slowDown, trace } from "./browser.ts";
import { median, percentile } from "./measure.ts";
import type { Report } from "./report.ts";
import { PACED, startPacedModel } from "./stand-ins/paced-model.ts";
import { serve } from "./stand-ins/serve.ts";

/*
 * `npm run bench -- --widget`: what the chat costs the page that embeds it, and how quickly it opens, in Chromium with its
 * processor slowed four times, against the service as `npm run dev` starts it.
 */

const LOADS = 5;
/** The time for the work that follows a response. */
const SETTLE_MS = 500;
const MESSAGES = 500;
const POLL_LIMIT = 200;
const SCROLL_STEPS = 60;

/** Opens a website with the chat. */
async function embed(browser: Browser, site: string): Promise<Page> {
  const page = await openSlowPage(browser);
  await page.goto(site);
  await page.locator(".launcher").waitFor();
  return page;
}

interface Load {
  scriptMs: number;
  /** The shift of the page's layout. */
  shift: number;
}

/** The page has no other scripts, so that what runs after the response is the loader's too. */
const SCRIPTING = new Set(["EvaluateScript", "FunctionCall", "RunMicrotasks"]);

/** Measures how long the page's main thread runs scripts until the launcher is there, and how far they move the page. */
async function measureLoad(browser: Browser, site: string): Promise<Load> {
  const page = await openSlowPage(browser);
  const events = await trace(browser, page, ["devtools.timeline", "v8"], async () => {
    // Looking for the launcher would run a script in the page.
    const answered = page.waitForEvent("requestfinished", (request) => request.url().includes("/widget/v1/agents/"));
    await Promise.all([answered, page.goto(site)]);
    await sleep(SETTLE_MS);
  });
  const evaluation = events.find(({ name, args }) => name === "EvaluateScript" && args.data?.url?.endsWith(".js"));
  const own = events.filter(({ name, tid, pid }) => SCRIPTING.has(name) && tid === evaluation?.tid && pid === evaluation.pid);
  const shift = await page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        let sum = 0;
        const add = (list: PerformanceObserverEntryList) =>
          list.getEntries().forEach((entry) => (sum += (entry as { value?: number } & PerformanceEntry).value ?? 0));
        new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
        setTimeout(() => resolve(sum), 300);
      }),
  );
  await page.close();
  return { scriptMs: outermost(own).reduce((sum, { dur = 0, tdur = dur }) => sum + tdur, 0) / 1000, shift };
}

/** Measures the time from a click to the frame with the panel. @param isWarm whether the visitor pointed at the launcher before. */
async function measureOpening(browser: Browser, site: string, isWarm: boolean): Promise<number> {
  const page = await embed(browser, site);
  if (isWarm) {
    await page.locator(".launcher").dispatchEvent("pointerenter");
    await page.locator(".window").waitFor({ state: "attached" });
  }
  const ms = await page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        const root = document.querySelector("support-agent")!.shadowRoot!;
        const startMs = performance.now();
        const look = () => {
          if (root.querySelector<HTMLElement>(".window")?.checkVisibility()) setTimeout(() => resolve(performance.now() - startMs));
          else requestAnimationFrame(look);
        };
        root.querySelector<HTMLElement>(".launcher")!.click();
        requestAnimationFrame(look);
      }),
  );
  await page.close();
  return ms;
}

/** Measures the times from the arrival of a part of an answer to the frame that shows it. */
async function measureTokens(browser: Browser, site: string): Promise<number[]> {
  const page = await embed(browser, site);
  await page.locator(".launcher").click();
  await page.locator("textarea").fill("How are webhooks signed?");
  const times = page.evaluate(
    () =>
      new Promise<number[]>((resolve) => {
        const found: number[] = [];
        // oxlint-disable-next-line typescript/unbound-method -- it is called with its reader
        const { read } = ReadableStreamDefaultReader.prototype;
        ReadableStreamDefaultReader.prototype.read = async function (this: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>) {
          const result = await read.call(this);
          const atMs = performance.now();
          const text = new TextDecoder().decode(result.value);
          if (text.includes("event: delta")) requestAnimationFrame(() => setTimeout(() => found.push(performance.now() - atMs)));
          if (text.includes("event: done")) setTimeout(() => resolve(found), 200);
          return result;
        } as typeof read;
      }),
  );
  await page.locator("textarea").press("Enter");
  const found = await times;
  await page.close();
  return found;
}

/** A page of as many paragraphs and nothing else: the frames that the machine drops of it are not the chat's. */
const PARAGRAPHS = Array.from({ length: MESSAGES }, (_, at) => `<p>Answer ${at} in a sentence or two.<p>And a last one.`);
const PLAIN = `<!doctype html><title>Plain</title><div class="scroller" style="width:400px;height:600px;overflow-y:auto">${PARAGRAPHS.join("")}</div>`;

/** Measures the times between frames while as many paragraphs are scrolled. */
async function measureParagraphs(browser: Browser): Promise<number[]> {
  const page = await openSlowPage(browser);
  await page.setContent(PLAIN);
  await page.locator(".scroller").evaluate((element) => element.scrollTo(0, element.scrollHeight));
  const frames = await measureScrolling(page, [".scroller"], SCROLL_STEPS, -120);
  await page.close();
  return frames;
}

/** Measures the times between frames while a long conversation is scrolled. */
async function measureLongChat(browser: Browser, site: string, agentId: string): Promise<number[]> {
  const page = await browser.newPage();
  await page.addInitScript((id) => {
    localStorage.setItem(`support-agent:${id}`, JSON.stringify({ token: "vt_bench", conversation: "bench" }));
  }, agentId);
  await page.route("**/widget/v1/conversations/bench/messages**", (route) => {
    const after = Number(new URL(route.request().url()).searchParams.get("after") ?? -1);
    const data = Array.from({ length: Math.min(POLL_LIMIT, MESSAGES - after - 1) }, (_, at) => messageAt(after + 1 + at));
    return route.fulfill({ json: { data, status: "ai_handled" }, headers: { "Access-Control-Allow-Origin": "*" } });
  });
  await page.goto(site);
  await page.locator(".launcher").click();
  await page
    .locator("article")
    .nth(MESSAGES - 1)
    .waitFor({ state: "attached" });
  // The code that formats answers is loaded after them.
  await page.locator("article li").first().waitFor({ state: "attached" });
  await sleep(SETTLE_MS);
  await slowDown(page);
  const frames = await measureScrolling(page, ["support-agent", ".scroller"], SCROLL_STEPS, -120);
  await page.close();
  return frames;
}

function messageAt(at: number): object {
  const isQuestion = at % 2 === 0;
  return {
    id: String(at),
    conversation_id: "bench",
    role: isQuestion ? "user" : "assistant",
    author: { type: isQuestion ? "visitor" : "agent", id: null, name: null },
    content: isQuestion ? `Question ${at}?` : `Answer **${at}** in a sentence or two.\n\n- one\n- two\n\nAnd a last one.`,
    citations: [],
    confidence: 0.9,
    needs_human: false,
    created_at: new Date(Date.now() - (MESSAGES - at) * 60_000).toISOString(),
  };
}

export async function benchWidget(): Promise<Report> {
  const browser = await launchChromium();
  const sizes = await buildWeb();
  const model = await startPacedModel();
  const service = startService({ OPENAI_BASE_URL: `${model.origin}/v1`, OPENAI_MODEL: PACED });
  let pages: Record<string, string> = {};
  const website = await serve(({ url = "" }, response) => {
    const type = url.endsWith(".js") ? "text/javascript" : "text/html";
    response.setHeader("Content-Type", type).end(pages[url] ?? "");
  });
  try {
    const { SUPPORT_URL: url, SUPPORT_AGENT: agentId = "" } = await service.variables;
    const page = (script: string) =>
      `<!doctype html><html lang="en"><title>Shop</title><h1>Shop</h1><p>Text</p><script ${script} async></script>`;
    pages = {
      "/": page(`src="${url}/widget.js" data-agent="${agentId}"`),
      "/bare": page('src="/bare.js"'),
      "/bare.js": `fetch("${url}/widget/v1/agents/${agentId}").then((response) => response.json());`,
    };
    return await measure(browser, `${website.origin}/`, agentId, sizes);
  } finally {
    await website.close();
    await browser.close();
    await service.stop();
    await model.close();
  }
}

async function measure(browser: Browser, site: string, agentId: string, sizes: Record<string, number>): Promise<Report> {
  const [loads, bare]: [Load[], Load[]] = [[], []];
  const [cold, warm]: [number[], number[]] = [[], []];
  for (let at = 0; at < LOADS; at++) {
    loads.push(await measureLoad(browser, site));
    bare.push(await measureLoad(browser, `${site}bare`));
    cold.push(await measureOpening(browser, site, false));
    warm.push(await measureOpening(browser, site, true));
  }
  const tokens = await measureTokens(browser, site);
  const frames = await measureLongChat(browser, site, agentId);
  const paragraphs = await measureParagraphs(browser);
  const kilobytes = (path: string) => `${(sizes[path]! / 1024).toFixed(1)} KB`;
  const scriptMs = (all: Load[]) => `${median(all.map((load) => load.scriptMs)).toFixed(1)} ms`;
  const dropped = (all: number[]) => `${droppedOf(all)} of ${all.length}`;
  const rows = [
    ["loader, gzipped", kilobytes("widget.js"), "2 KB"],
    ["panel, gzipped", kilobytes("widget/panel.js"), "30 KB"],
    ["what formats answers, gzipped, loaded after it", kilobytes("widget/lexer.js"), ""],
    ["main thread for the loader", scriptMs(loads), "10 ms"],
    ["– of a script that makes the same request and no more", scriptMs(bare), ""],
    ["layout shift", Math.max(...loads.map(({ shift }) => shift)).toFixed(3), "0"],
    ["click to panel, pointed at before", `${median(warm).toFixed(0)} ms`, "150 ms"],
    ["click to panel, nothing loaded", `${median(cold).toFixed(0)} ms`, ""],
    ["part of an answer to its frame, p50 and p95", `${median(tokens).toFixed(0)} and ${percentile(tokens, 0.95).toFixed(0)} ms`, "32 ms"],
    [`frame while ${MESSAGES} messages are scrolled`, `${median(frames).toFixed(1)} ms`, "16.7 ms"],
    ["frames dropped meanwhile", dropped(frames), "0"],
    [`– of ${MESSAGES} pairs of paragraphs on an empty page`, dropped(paragraphs), ""],
  ] as const;
  const table = rows.map(([figure, measured, wanted]) => ({
    "the chat on a page, its processor slowed four times": figure,
    measured,
    wanted,
  }));
  return { tables: [table] };
}
