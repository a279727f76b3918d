import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser, Page } from "playwright-core";
import { startService } from "../scripts/docs/service.ts";
import { listen } from "../scripts/shared/ports.ts";
import { call, type Client, createClient } from "../scripts/shared/service.ts";
import { buildWeb } from "../scripts/web.ts";
import { startModel } from "../test/web/model.ts";
import { launchChromium } from "./browser.ts";
import { median, percentile } from "./measure.ts";
import type { Report, Table } from "./report.ts";

/*
 * `npm run bench -- --morning`: eight members of a team work on the conversations of a morning, each in a browser profile of his own,
 * against the service as `npm run dev` starts it. Round robin gives each conversation to one of them. Afterwards, the API is asked
 * whether each conversation has what was done with it, under the right name.
 */

const MEMBERS = ["Ada", "Barbara", "Claude", "Donald", "Edsger", "Frances", "Grace", "Hedy"];
const CONVERSATIONS = 200;
const CONVERSATIONS_PER_MEMBER = 5;
const VISITORS_AT_ONCE = 4;
const DEADLINE_MS = 40 * 60_000;
const STEP_MS = 60_000;
const CLICK_MS = 3_000;
const LOOK_AGAIN_MS = 500;
/** What a member does with a conversation, by the last digit of its number. */
const DEEDS = ["answer", "approve", "hand over", "snooze", "answer", "saved reply", "answer", "approve", "hand over", "answer"] as const;

type Deed = (typeof DEEDS)[number];

interface Member {
  id: string;
  name: string;
  page: Page;
}

/** A conversation of the morning, and who did what with it. */
interface Task {
  number: number;
  deed: Deed;
  /** The names of those who worked on it, in order. */
  by: string[];
  isDone: boolean;
}

interface Desk {
  url: string;
  api: Client;
  agentId: string;
  /** How often each order was paid back. */
  refunds: { count: number };
  members: Member[];
  tasks: Map<string, Task>;
}

export async function benchMorning(): Promise<Report> {
  await buildWeb();
  const refunds = { count: 0 };
  const shop = createServer((_, response) => {
    refunds.count++;
    response.writeHead(200, { "Content-Type": "application/json" }).end('{"total":"48.00 EUR"}');
  });
  const [shopUrl, model] = [await listen(shop), await startModel()];
  const service = startService({ OPENAI_BASE_URL: model.url, OPENAI_MODEL: "stand-in" });
  const browser = await launchChromium();
  try {
    const { SUPPORT_URL: url = "" } = await service.variables;
    const desk = await openDesk({ url, operatorToken: service.operatorToken(), shopUrl, browser });
    return await spendMorning({ ...desk, refunds });
  } finally {
    await browser.close();
    await service.stop();
    for (const server of [shop, model.server]) {
      server.closeAllConnections();
      server.close();
    }
  }
}

interface Setup {
  url: string;
  operatorToken: string;
  shopUrl: string;
  browser: Browser;
}

/** Creates a workspace with an agent that may pay back, a team that takes turns, and a signed-in page for each member. */
async function openDesk({ url, operatorToken, shopUrl, browser }: Setup): Promise<Omit<Desk, "refunds">> {
  const operator = createClient(url, operatorToken);
  const { id } = await call<{ id: string }>(operator, "POST", "/operator/v1/workspaces", {
    name: "Acme",
    slug: "morning",
    plan: "enterprise",
  });
  const { key } = await call<{ key: string }>(operator, "POST", `/operator/v1/workspaces/${id}/keys`, { name: "Setup", scopes: ["*"] });
  const api = createClient(url, key);
  const { id: agentId } = await call<{ id: string }>(api, "POST", "/api/v1/agents", { name: "Ada", tools: [refundTool(shopUrl)] });
  await call(api, "POST", "/api/v1/saved-replies", { name: "Shipped", content: "Your parcel has been shipped, {{visitor.name}}." });
  const members = await Promise.all(MEMBERS.map((name) => join({ api, browser, name })));
  const member_ids = members.map((member) => member.id);
  const team = { name: "Desk", member_ids, conversations_per_member: CONVERSATIONS_PER_MEMBER };
  const { id: team_id } = await call<{ id: string }>(api, "POST", "/api/v1/teams", team);
  const rule = { name: "All", conditions: {}, actions: { team_id, assign: "round_robin" } };
  await call(api, "POST", "/api/v1/routing-rules", rule);
  return { url, api, agentId, members, tasks: new Map() };
}

function refundTool(shopUrl: string) {
  const properties = { order: { type: "string" }, amount: { type: "number", maximum: 50 } };
  return {
    name: "refund_order",
    description: "Pays money back.",
    parameters: { type: "object", properties, required: ["order", "amount"] },
    method: "POST",
    url: `${shopUrl}/refunds/{order}`,
    requires_verified_visitor: false,
    requires_approval: true,
  };
}

/** Invites a member, who signs in with the link of the invitation. */
async function join({ api, browser, name }: { api: Client; browser: Browser; name: string }): Promise<Member> {
  const invited = await call<{ id: string; invitation: { url: string } }>(api, "POST", "/api/v1/members", {
    email: `${name.toLowerCase()}@example.com`,
    name,
    role: "agent",
  });
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 }, locale: "en", reducedMotion: "reduce" });
  page.setDefaultTimeout(STEP_MS);
  await page.goto(invited.invitation.url);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Console" }).waitFor();
  return { id: invited.id, name, page };
}

async function spendMorning(desk: Desk): Promise<Report> {
  const deadlineMs = Date.now() + DEADLINE_MS;
  const startMs = performance.now();
  const worked = Promise.all(desk.members.map((member) => work(desk, member, deadlineMs)));
  await Promise.all(Array.from({ length: VISITORS_AT_ONCE }, (_, at) => visit(desk, at)));
  await worked;
  const minutes = (performance.now() - startMs) / 60_000;
  const problems = await findProblems(desk);
  const removals = await removeMembers(desk);
  const all = [...desk.tasks.values()];
  const rows: Table = desk.members.map(({ name }) => ({
    member: name,
    ...Object.fromEntries(
      [...new Set(DEEDS)].map((deed) => [deed, all.filter((task) => task.deed === deed && task.by.includes(name)).length]),
    ),
  }));
  const notes = [
    `${all.length} conversations in ${minutes.toFixed(1)} minutes; ${desk.refunds.count} refunds were paid.`,
    `The page of a member who was removed asked for a sign-in after ${median(removals).toFixed(0)} ms, the slowest after ${percentile(removals, 1).toFixed(0)} ms.`,
    ...problems,
  ];
  if (problems.length === 0) notes.push("Each conversation has what was done with it, under the right name.");
  return { tables: [rows], notes };
}

/** Asks the questions of every fourth visitor. */
async function visit({ api, agentId, tasks }: Desk, from: number): Promise<void> {
  for (let number = from; number < CONVERSATIONS; number += VISITORS_AT_ONCE) {
    const deed = DEEDS[number % DEEDS.length]!;
    const message = deed === "approve" ? `Please pay my order back. [refund]` : "Where is my parcel? Can I talk to a person?";
    const user = { id: `visitor-${number}`, name: `Visitor ${number}` };
    const asked = await call<{ conversation_id: string }>(api, "POST", `/api/v1/agents/${agentId}/messages`, { message, user });
    tasks.set(asked.conversation_id, { number, deed, by: [], isDone: false });
  }
}

/** Works on the conversations that are the member's, until all of the morning are done. */
async function work(desk: Desk, { name, page }: Member, deadlineMs: number): Promise<void> {
  await page.goto(`${desk.url}/console/?view=mine#/inbox`);
  // The newest activity is on top.
  const rows = page.locator(".conversation-list .row");
  for (;;) {
    const tasks = [...desk.tasks.values()];
    if (tasks.length === CONVERSATIONS && tasks.every((task) => task.isDone)) return;
    if (Date.now() > deadlineMs) return;
    // The list changes all the time.
    const isOpened =
      (await rows.count()) > 0 &&
      (await rows
        .last()
        .click({ timeout: CLICK_MS })
        .then(
          () => true,
          () => false,
        ));
    if (!isOpened) {
      await sleep(LOOK_AGAIN_MS);
      continue;
    }
    const id = await page.waitForFunction(() => /inbox\/([0-9a-f-]+)/.exec(location.hash)?.[1]).then((handle) => handle.jsonValue());
    const task = desk.tasks.get(id!);
    // The conversation may have been asked a moment ago, or done with and about to leave the list.
    if (!task || task.isDone) {
      await sleep(LOOK_AGAIN_MS);
      continue;
    }
    await page.getByRole("heading", { name: `Visitor ${task.number}`, exact: true }).waitFor();
    await doTask(desk, task, { name, page });
  }
}

async function doTask({ members }: Desk, task: Task, { name, page }: Pick<Member, "name" | "page">): Promise<void> {
  const log = page.getByRole("log", { name: "Messages" });
  task.by.push(name);
  const isHandedOver = task.by.length > 1;
  if (task.deed === "hand over" && !isHandedOver) {
    await page.getByRole("button", { name: "Note", exact: true }).click();
    await page.getByLabel("Note for the team").fill(`Visitor ${task.number} asks for a colleague.`);
    await page.keyboard.press("Control+Enter");
    await log.getByText("asks for a colleague").waitFor();
    const colleague = members[(members.findIndex((member) => member.name === name) + 1) % members.length]!;
    await page.getByLabel("Assigned to").selectOption(colleague.id);
    return leave(page);
  }
  if (task.deed === "snooze") {
    await page.getByRole("button", { name: "Snooze", exact: true }).click();
    await page.getByRole("dialog", { name: "Snooze" }).getByRole("button", { name: "Tomorrow morning" }).click();
    await page.getByRole("dialog", { name: "Snooze" }).waitFor({ state: "detached" });
    task.isDone = true;
    return leave(page);
  }
  if (task.deed === "approve") {
    await page.getByRole("region", { name: "Approval" }).waitFor();
    await page.keyboard.press("a");
    await log.getByText("48.00 EUR").waitFor();
    await page.getByRole("button", { name: "Resolve", exact: true }).click();
  } else {
    const field = page.getByLabel("Reply to the visitor");
    if (task.deed === "saved reply") {
      await field.fill("/Shipped");
      await page.getByRole("option", { name: /Shipped/ }).waitFor();
      await page.keyboard.press("Enter");
    } else await field.fill(`It arrives today, visitor ${task.number}.`);
    await field.press("Control+Shift+Enter");
  }
  task.isDone = true;
  return leave(page);
}

/** Closes the conversation, once what was done is stored. */
async function leave(page: Page): Promise<void> {
  await page.waitForLoadState("networkidle");
  await page.evaluate(() => (location.hash = "#/inbox"));
  await page.getByRole("heading", { name: "No conversation is open" }).waitFor();
}

interface Stored {
  status: string;
  assignee: { id: string; name: string } | null;
  snoozed_until: string | null;
  messages: { role: string; content: string; author: { name: string } | null }[];
}

interface Approvals {
  data: { decided_by: { name: string } | null }[];
}

/** Compares what the API has with what was done. */
async function findProblems({ api, tasks, refunds }: Desk): Promise<string[]> {
  const problems: string[] = [];
  const approved = [...tasks.values()].filter(({ deed }) => deed === "approve").length;
  if (refunds.count !== approved) problems.push(`${refunds.count} refunds were paid, ${approved} were approved.`);
  const say = (task: Task, problem: string) => problems.push(`Visitor ${task.number} (${task.deed}, ${task.by.join(", ")}): ${problem}.`);
  for (const [id, task] of tasks) {
    const stored = await call<Stored>(api, "GET", `/api/v1/conversations/${id}`);
    const writersOf = (wanted: string) =>
      stored.messages
        .filter(({ role }) => role === wanted)
        .map(({ author }) => author?.name)
        .join();
    const expected = task.deed === "snooze" || task.deed === "approve" ? "" : task.by.at(-1);
    if (!task.isDone) say(task, "not done");
    else if (writersOf("human") !== expected) say(task, `replies by ${writersOf("human") || "nobody"}`);
    if (writersOf("note") !== (task.deed === "hand over" ? task.by[0] : "")) say(task, `notes by ${writersOf("note") || "nobody"}`);
    if (task.by.length !== (task.deed === "hand over" ? 2 : 1)) say(task, `${task.by.length} members worked on it`);
    if (stored.assignee?.name !== task.by.at(-1)) say(task, `assigned to ${stored.assignee?.name ?? "nobody"}`);
    if ((stored.status === "resolved") === (task.deed === "snooze")) say(task, `the status is ${stored.status}`);
    const { data } = await call<Approvals>(api, "GET", `/api/v1/approvals?conversation_id=${id}`);
    const deciders = data.map(({ decided_by }) => decided_by?.name).join();
    if (deciders !== (task.deed === "approve" ? task.by.join() : "")) say(task, `approved by ${deciders || "nobody"}`);
    if ((stored.snoozed_until !== null) !== (task.deed === "snooze")) say(task, `snoozed until ${stored.snoozed_until}`);
  }
  return problems;
}

/** Removes the members one by one. @returns how many milliseconds each page took from the removal's answer to asking for a sign-in. */
async function removeMembers({ api, members }: Desk): Promise<number[]> {
  const found: number[] = [];
  for (const { id, page } of members) {
    const shown = page
      .getByRole("dialog", { name: "Your session has ended" })
      .waitFor()
      .then(() => performance.now());
    await call(api, "DELETE", `/api/v1/members/${id}`);
    const removedMs = performance.now();
    found.push(Math.max(0, (await shown) - removedMs));
  }
  return found;
}
