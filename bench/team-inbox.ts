import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser, Page, Request } from "playwright-core";
import { startService } from "../scripts/docs/service.ts";
import { listen } from "../scripts/shared/ports.ts";
import { call, type Client, createClient } from "../scripts/shared/service.ts";
import { buildWeb } from "../scripts/web.ts";
import { startModel } from "../test/web/model.ts";
import { launchChromium } from "./browser.ts";
import { median, percentile } from "./measure.ts";
import type { Report, Table } from "./report.ts";

/*
 * `npm run bench -- --team-inbox`: eight members of a team work on the conversations of their inbox, each in a browser profile of their
 * own, against the service as `npm run dev` starts it. Round robin gives each conversation to one of them. Afterwards, the API is asked
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
const ACTIONS = ["answer", "approve", "hand over", "snooze", "answer", "saved reply", "answer", "approve", "hand over", "answer"] as const;

type Action = (typeof ACTIONS)[number];

interface Member {
  id: string;
  name: string;
  page: Page;
}

/** A conversation, what is done with it, and by whom. */
interface Task {
  id: string;
  number: number;
  action: Action;
  /** The names of those who worked on it, in order. */
  members: string[];
  isDone: boolean;
}

interface TeamSetup {
  url: string;
  api: Client;
  agentId: string;
  /** How many refunds were paid. */
  refunds: { count: number };
  members: Member[];
  tasks: Map<string, Task>;
}

export async function benchTeamInbox(): Promise<Report> {
  await buildWeb();
  const refunds = { count: 0 };
  const shop = createServer((_, response) => {
    refunds.count++;
    response.writeHead(200, { "Content-Type": "application/json" }).end('{"total":"48.00 EUR"}');
  });
  const [shopUrl, model] = [await listen(shop), await startModel()];
  const service = startService({ ENCODE_SENTENCES: "false", OPENAI_BASE_URL: model.url, OPENAI_MODEL: "stand-in" });
  const browser = await launchChromium();
  try {
    const { SUPPORT_URL: url = "" } = await service.variables;
    const team = await createTeam({ url, operatorToken: service.operatorToken(), shopUrl, browser });
    return await runTeamInbox({ ...team, refunds });
  } finally {
    await browser.close();
    await service.stop();
    for (const server of [shop, model.server]) {
      server.closeAllConnections();
      server.close();
    }
  }
}

interface Environment {
  url: string;
  operatorToken: string;
  shopUrl: string;
  browser: Browser;
}

/** Creates a workspace with an agent that may pay back, a team that takes turns, and a signed-in page for each member. */
async function createTeam({ url, operatorToken, shopUrl, browser }: Environment): Promise<Omit<TeamSetup, "refunds">> {
  const operator = createClient(url, operatorToken);
  const { id } = await call<{ id: string }>(operator, "POST", "/operator/v1/workspaces", {
    name: "Acme",
    slug: "team-inbox",
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

async function runTeamInbox(team: TeamSetup): Promise<Report> {
  const deadlineMs = Date.now() + DEADLINE_MS;
  const startMs = performance.now();
  const visitors = Array.from({ length: VISITORS_AT_ONCE }, (_, at) => visit(team, at));
  await Promise.all([...visitors, ...team.members.map((member) => work(team, member, deadlineMs))]);
  const minutes = (performance.now() - startMs) / 60_000;
  const problems = await findProblems(team);
  const removals = await removeMembers(team);
  const all = [...team.tasks.values()];
  const rows: Table = team.members.map(({ name }) => ({
    member: name,
    ...Object.fromEntries(
      [...new Set(ACTIONS)].map((action) => [action, all.filter((task) => task.action === action && task.members.includes(name)).length]),
    ),
  }));
  const notes = [
    `${all.length} conversations in ${minutes.toFixed(1)} minutes; ${team.refunds.count} refunds were paid.`,
    `The page of a member who was removed asked for a sign-in after ${median(removals).toFixed(0)} ms, the slowest after ${percentile(removals, 1).toFixed(0)} ms.`,
    ...problems,
  ];
  if (problems.length === 0) notes.push("Each conversation has what was done with it, under the right name.");
  return { tables: [rows], notes };
}

/** Asks the questions of every fourth visitor. */
async function visit({ api, agentId, tasks }: TeamSetup, from: number): Promise<void> {
  for (let number = from; number < CONVERSATIONS; number += VISITORS_AT_ONCE) {
    const action = ACTIONS[number % ACTIONS.length]!;
    const message = action === "approve" ? `Please pay my order back. [refund]` : "Where is my parcel? Can I talk to a person?";
    const user = { id: `visitor-${number}`, name: `Visitor ${number}` };
    const asked = await call<{ conversation_id: string }>(api, "POST", `/api/v1/agents/${agentId}/messages`, { message, user });
    tasks.set(asked.conversation_id, { id: asked.conversation_id, number, action, members: [], isDone: false });
  }
}

/** Works on the conversations that are the member's, until all conversations are done. */
async function work(team: TeamSetup, { name, page }: Member, deadlineMs: number): Promise<void> {
  const rows = page.locator(".conversation-list .row");
  await page.goto(`${team.url}/console/?view=mine#/inbox`);
  while (Date.now() < deadlineMs) {
    const tasks = [...team.tasks.values()];
    if (tasks.length === CONVERSATIONS && tasks.every((task) => task.isDone)) return;
    const shown = await rows.allInnerTexts();
    const open = tasks.filter((task) => !task.isDone && task.members.at(-1) !== name);
    // The oldest is the last one.
    const next = shown.toReversed().flatMap((text) => open.find(({ number }) => text.includes(`Visitor ${number}\n`)) ?? [])[0];
    const row = rows.filter({ has: page.getByText(`Visitor ${next?.number}`, { exact: true }) });
    // The list changes all the time, so another row may be where the pointer clicks.
    const isOpen =
      next && (await isDone(row.click({ timeout: CLICK_MS }))) && (await isDone(titleOf(next, page).waitFor({ timeout: CLICK_MS })));
    if (isOpen) await doTask(team, next, { name, page });
    else await sleep(LOOK_AGAIN_MS);
  }
}

const titleOf = ({ number }: Task, page: Page) => page.getByRole("heading", { name: `Visitor ${number}`, exact: true });

const isDone = (step: Promise<unknown>): Promise<boolean> =>
  step.then(
    () => true,
    () => false,
  );

async function doTask({ members }: TeamSetup, task: Task, { name, page }: Pick<Member, "name" | "page">): Promise<void> {
  const log = page.getByRole("log", { name: "Messages" });
  const isHandedOver = task.members.length > 0;
  task.members.push(name);
  const change = async (act: () => Promise<unknown>) => {
    // A page that is looked at also marks the conversation as read.
    const isOwn = (request: Request) =>
      request.method() === "PATCH" && request.url().endsWith(`/conversations/${task.id}`) && !request.postData()?.includes('"read"');
    const [response] = await Promise.all([page.waitForResponse((each) => isOwn(each.request())), act()]);
    if (!response.ok()) throw new Error(`Visitor ${task.number}: ${await response.text()}`);
  };
  if (task.action === "hand over" && !isHandedOver) {
    await page.getByRole("button", { name: "Note", exact: true }).click();
    await page.getByLabel("Note for the team").fill(`Visitor ${task.number} asks for a colleague.`);
    await page.keyboard.press("Control+Enter");
    await log.getByText("asks for a colleague").waitFor();
    const colleague = members[(members.findIndex((member) => member.name === name) + 1) % members.length]!;
    await change(() => page.getByLabel("Assigned to").selectOption(colleague.id));
    return;
  }
  if (task.action === "snooze") {
    await page.getByRole("button", { name: "Snooze", exact: true }).click();
    const tomorrow = page.getByRole("dialog", { name: "Snooze" }).getByRole("button", { name: "Tomorrow morning" });
    await change(() => tomorrow.click());
  } else if (task.action === "approve") {
    await page.getByRole("region", { name: "Approval" }).getByRole("button", { name: "Approve" }).click();
    await log.getByText("48.00 EUR").waitFor();
    await change(() => page.getByRole("button", { name: "Resolve", exact: true }).click());
  } else {
    const field = page.getByLabel("Reply to the visitor");
    if (task.action === "saved reply") {
      await field.fill("/Shipped");
      await page.getByRole("option", { name: /Shipped/ }).waitFor();
      await page.keyboard.press("Enter");
    } else await field.fill(`It arrives today, visitor ${task.number}.`);
    await field.press("Control+Shift+Enter");
    await page.getByText("Resolved", { exact: true }).last().waitFor();
  }
  task.isDone = true;
  // The inbox opens the next conversation by itself, if there is one.
  await isDone(titleOf(task, page).waitFor({ state: "detached", timeout: LOOK_AGAIN_MS }));
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
async function findProblems({ api, tasks, refunds }: TeamSetup): Promise<string[]> {
  const problems: string[] = [];
  const approved = [...tasks.values()].filter(({ action }) => action === "approve").length;
  if (refunds.count !== approved) problems.push(`${refunds.count} refunds were paid, ${approved} were approved.`);
  const say = (task: Task, problem: string) =>
    problems.push(`Visitor ${task.number} (${task.action}, ${task.members.join(", ")}): ${problem}.`);
  for (const [id, task] of tasks) {
    const stored = await call<Stored>(api, "GET", `/api/v1/conversations/${id}`);
    const writersOf = (wanted: string) =>
      stored.messages
        .filter(({ role }) => role === wanted)
        .map(({ author }) => author?.name)
        .join();
    const expected = task.action === "snooze" || task.action === "approve" ? "" : task.members.at(-1);
    if (!task.isDone) say(task, "not done");
    else if (writersOf("human") !== expected) say(task, `replies by ${writersOf("human") || "nobody"}`);
    if (writersOf("note") !== (task.action === "hand over" ? task.members[0] : "")) say(task, `notes by ${writersOf("note") || "nobody"}`);
    if (task.members.length !== (task.action === "hand over" ? 2 : 1)) say(task, `${task.members.length} members worked on it`);
    if (stored.assignee?.name !== task.members.at(-1)) say(task, `assigned to ${stored.assignee?.name ?? "nobody"}`);
    if ((stored.status === "resolved") === (task.action === "snooze")) say(task, `the status is ${stored.status}`);
    const { data } = await call<Approvals>(api, "GET", `/api/v1/approvals?conversation_id=${id}`);
    const deciders = data.map(({ decided_by }) => decided_by?.name).join();
    if (deciders !== (task.action === "approve" ? task.members.join() : "")) say(task, `approved by ${deciders || "nobody"}`);
    if ((stored.snoozed_until !== null) !== (task.action === "snooze")) say(task, `snoozed until ${stored.snoozed_until}`);
  }
  return problems;
}

/** Removes the members one by one. @returns how many milliseconds each page took from the removal's answer to asking for a sign-in. */
async function removeMembers({ api, members }: TeamSetup): Promise<number[]> {
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
