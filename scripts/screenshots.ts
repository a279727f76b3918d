import { join } from "node:path";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { findChromium } from "../test/web/chromium.ts";
import { startService } from "./docs/service.ts";
import { COLLEAGUE } from "./dev/past-days.ts";
import { ROOT, UserError } from "./shared/cli.ts";
import { call, createClient } from "./shared/service.ts";

/*
 * `npm run screenshots`: takes the pictures of the console in docs/images, of the demo workspace as `npm run dev` makes it: each
 * screen on a sheet, once light and once dark; a conversation as the team and the visitor see it; and the chat on a website.
 */

const IMAGES = join(ROOT, "docs/images");
const SCREEN = { width: 1360, height: 850 };
/** The width of a screen on a sheet, the screens in a row, and the gap between them. */
const SHEET = { width: 480, columns: 3, gap: 10 };
/** Screens load more data after they are shown. */
const QUIET_MS = 1_000;

/** A screen by its address, with the steps before its picture is taken. */
interface Screen {
  path: string;
  prepare?: (page: Page) => Promise<unknown>;
}

const openFirst = (page: Page) => page.locator(".conversation-list .row").first().click();
const ask = async (page: Page) => {
  await page.getByLabel("Question").fill("How are webhooks signed?");
  await page.getByRole("button", { name: "Ask" }).click();
  await page.getByRole("button", { name: "Save as a curated answer" }).waitFor();
};

const compare = async (page: Page) => {
  await page.getByRole("button", { name: "Compare settings" }).click();
  await page.getByLabel("Confidence threshold").fill("0.97");
  await page.getByLabel("Question").fill("How are webhooks signed?");
  await page.getByRole("button", { name: "Ask", exact: true }).click();
  await page.getByText("Would be handed to the team").waitFor();
  await page.getByRole("button", { name: "Save as a curated answer" }).waitFor();
};

const WORKSPACE_SCREENS = (agentId: string): readonly Screen[] => [
  { path: "inbox", prepare: openFirst },
  { path: "playground", prepare: ask },
  { path: "knowledge" },
  { path: "knowledge/gaps" },
  { path: "knowledge/drafts" },
  { path: "knowledge/evaluations" },
  { path: "analytics", prepare: (page) => page.getByLabel("Range").selectOption("7") },
  { path: "leads" },
  { path: "people" },
  { path: "webhooks" },
  { path: `settings/agents/${agentId}` },
  { path: "settings/keys" },
  { path: "settings/usage" },
];
const OPERATOR_SCREENS: readonly Screen[] = [{ path: "workspaces" }, { path: "health" }, { path: "audit" }];

async function signIn(browser: Browser, url: string, key: string, options: BrowserContextOptions): Promise<Page> {
  const context = await browser.newContext({ viewport: SCREEN, reducedMotion: "reduce", locale: "en", ...options });
  const page = await context.newPage();
  await page.goto(`${url}/console/`);
  await page.getByLabel("API key or operator token").fill(key);
  await page.getByLabel("Your name").fill("Grace Hopper");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Console" }).waitFor();
  return page;
}

async function take(page: Page, url: string, screens: readonly Screen[]): Promise<Buffer[]> {
  const taken: Buffer[] = [];
  for (const { path, prepare } of screens) {
    await page.goto(`${url}/console/#/${path}`);
    await prepare?.(page);
    await page.waitForTimeout(QUIET_MS);
    taken.push(await page.screenshot());
  }
  return taken;
}

/** In CSS pixels; a picture in a guide is as wide as its text. */
const PICTURE = { width: 1200, height: 750 };
const PICTURE_SCALE = 0.8;
const PHONE = { width: 380, height: 690 };

/** Takes the pictures of a conversation: a visitor asks, wants a person, and gets a reply. */
async function takeStory(browser: Browser, url: string, key: string, agentId: string): Promise<void> {
  const visitor = await browser.newPage({ viewport: PHONE, reducedMotion: "reduce", locale: "en" });
  await visitor.goto(`${url}/chat/${agentId}`);
  const say = async (message: string) => {
    const field = visitor.getByRole("textbox", { name: "Your message" });
    await field.fill(message);
    await field.press("Enter");
  };
  await say("How are webhooks signed?");
  await visitor.getByRole("button", { name: "Helpful", exact: true }).waitFor();
  await say("Can I talk to a person, please?");
  await visitor.getByText("Waiting for a person").first().waitFor();
  const team = await signIn(browser, url, key, { viewport: PICTURE });
  await team.getByRole("button", { name: /Can I talk to a person, please/ }).click();
  await team.getByLabel("Reply to the visitor").fill("Hello, this is Grace. What can I do for you?");
  await team.getByRole("button", { name: "Send", exact: true }).click();
  await visitor.getByText("this is Grace").first().waitFor();
  await team.waitForTimeout(QUIET_MS);
  await writePicture(browser, await visitor.screenshot(), PHONE.width, "chat-page.png");
  await writePicture(browser, await team.screenshot(), PICTURE.width, "console-inbox.png");
  const [playground] = await take(team, url, [{ path: "playground", prepare: ask }]);
  await writePicture(browser, playground!, PICTURE.width, "console-playground.png");
  const [compared] = await take(team, url, [{ path: "playground", prepare: compare }]);
  await writePicture(browser, compared!, PICTURE.width, "console-compare.png");
}

const PANEL = { width: 400, height: 680 };

/** Takes the pictures of the chat on a website: its greeting, an answer, waiting for a person, and the rating in dark colours. */
async function takeWidget(browser: Browser, url: string, key: string, agentId: string): Promise<void> {
  const page = await browser.newPage({ viewport: PANEL, reducedMotion: "reduce", locale: "en" });
  const body = `<!doctype html><meta name="viewport" content="width=device-width"><script src="${url}/widget.js" data-agent="${agentId}"></script>`;
  await page.route(`${url}/shop`, (route) => route.fulfill({ body, contentType: "text/html" }));
  await page.goto(`${url}/shop`);
  await page.getByRole("button", { name: "Open chat" }).click();
  const suggestion = page.getByRole("button", { name: "How are webhooks signed?" });
  await suggestion.waitFor();
  const panels = [await page.screenshot()];
  await suggestion.click();
  await page.getByRole("button", { name: "Helpful", exact: true }).waitFor();
  panels.push(await page.screenshot());
  await page.getByRole("button", { name: "Talk to a person" }).click();
  await page.getByText("Waiting for a person").waitFor();
  await page.getByRole("log").getByText("I have asked a colleague").waitFor();
  panels.push(await page.screenshot());
  const client = createClient(url, key);
  const waiting = "/api/v1/conversations?channel=widget&status=needs_human&limit=1";
  const { data } = await call<{ data: { id: string }[] }>(client, "GET", waiting);
  const content = "Hello, this is Grace. The guide “Webhooks” has a receiver to copy. Good luck!";
  await call(client, "POST", `/api/v1/conversations/${data[0]!.id}/messages`, { content, author: COLLEAGUE, resolve: true });
  await page.emulateMedia({ colorScheme: "dark" });
  await page
    .getByRole("radio")
    .or(page.getByRole("button", { name: /of 5|Very good|Excellent/ }))
    .last()
    .click();
  await page.getByLabel("Would you like to add something?").waitFor();
  panels.push(await page.screenshot());
  await writeSheet(browser, panels, "widget.png", { ...SHEET, width: PANEL.width, columns: panels.length });
}

/** Writes a picture smaller than it was taken. */
async function writePicture(browser: Browser, image: Buffer, width: number, file: string): Promise<void> {
  const shown = Math.round(width * PICTURE_SCALE);
  const page = await browser.newPage({ viewport: { width: shown, height: 100 } });
  const css = `body { margin: 0 } img { display: block; width: ${shown}px }`;
  await page.setContent(`<style>${css}</style><img src="data:image/png;base64,${image.toString("base64")}">`);
  await page.screenshot({ path: join(IMAGES, file), fullPage: true });
  await page.close();
}

/** Writes images side by side into one picture. */
async function writeSheet(browser: Browser, images: readonly Buffer[], file: string, { width, columns, gap }: typeof SHEET): Promise<void> {
  const page = await browser.newPage({ viewport: { width: width * columns + gap * (columns + 1), height: 100 } });
  const tags = images.map((image) => `<img src="data:image/png;base64,${image.toString("base64")}">`).join("");
  const css = `body { margin: ${gap}px; display: grid; gap: ${gap}px; grid-template-columns: repeat(${columns}, ${width}px); background: #8a8f98 }
    img { display: block; width: 100%; border-radius: 6px }`;
  await page.setContent(`<style>${css}</style>${tags}`);
  await page.screenshot({ path: join(IMAGES, file), fullPage: true });
  await page.close();
}

const executablePath = findChromium();
if (!executablePath) throw new UserError("There is no Chromium here: install it, or set CHROMIUM_PATH.");
const service = startService();
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
try {
  const { SUPPORT_URL: url = "", SUPPORT_KEY: key = "", SUPPORT_AGENT: agentId = "" } = await service.variables;
  for (const colorScheme of ["light", "dark"] as const) {
    const team = await signIn(browser, url, key, { colorScheme });
    const operator = await signIn(browser, url, service.operatorToken(), { colorScheme });
    const images = [...(await take(team, url, WORKSPACE_SCREENS(agentId))), ...(await take(operator, url, OPERATOR_SCREENS))];
    await writeSheet(browser, images, `console-screens-${colorScheme}.png`, SHEET);
  }
  await takeStory(browser, url, key, agentId);
  await takeWidget(browser, url, key, agentId);
} finally {
  await browser.close();
  await service.stop();
}
