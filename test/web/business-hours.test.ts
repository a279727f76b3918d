import { expect, test } from "vitest";
import { openPage, service } from "./browser.ts";
import { createWorkspace, findBarriers, signIn } from "./workspace.ts";

interface Hours {
  time_zone: string;
  hours: Record<string, { from: string; to: string }[]> | null;
  holidays: string[];
  closed_message: string | null;
}

/** Hours of a day that is neither yesterday, today nor tomorrow. */
function closedHours() {
  const day = new Date(Date.now() + 3 * 86_400_000).toLocaleString("en", { weekday: "long", timeZone: "UTC" }).toLowerCase();
  return { time_zone: "UTC", hours: { [day]: [{ from: "09:00", to: "17:00" }] } };
}

test("the team sets its hours, and sees at once when it opens", async () => {
  const workspace = await createWorkspace();
  const { page, errors } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/settings/hours`);
  const form = page.locator("form.card");
  await form.getByText("Open now").waitFor();
  await form.getByLabel("The team is always there").uncheck();
  await form.getByLabel("Time zone").fill("Europe/Vienna");
  await form.getByLabel("Monday, to").fill("12:00");
  await form.getByRole("button", { name: "Add hours on Monday" }).click();
  await form.getByLabel("Monday, from").nth(1).fill("11:00");
  await form.getByRole("button", { name: "Save" }).click();
  await form.getByText("do not overlap").waitFor();
  await form.getByLabel("Monday, from").nth(1).fill("13:00");
  await form.getByRole("button", { name: "Remove Tuesday, 09:00 to 17:00" }).click();
  const days = Array.from({ length: 8 }, (_, at) => new Date(Date.now() + at * 86_400_000).toISOString().slice(0, 10));
  await form.getByLabel("Holidays").fill(days.join("\n"));
  await form.getByText(/^Closed now\. Opens /).waitFor();
  await form.getByLabel("Message outside the hours").fill("Back on {{opens_at}}.");
  await form.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved", { exact: true }).waitFor();
  const saved = await workspace.call<Hours>("GET", "/business-hours");
  expect(saved).toMatchObject({ time_zone: "Europe/Vienna", holidays: days, closed_message: "Back on {{opens_at}}." });
  const office = [{ from: "09:00", to: "17:00" }];
  const monday = [
    { from: "09:00", to: "12:00" },
    { from: "13:00", to: "24:00" },
  ];
  expect(saved.hours).toEqual({ monday, tuesday: [], wednesday: office, thursday: office, friday: office });
  for (const [width, colorScheme] of [
    [375, "dark"],
    [1440, "light"],
  ] as const) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme });
    expect(await findBarriers(page), `${width} ${colorScheme}`).toEqual([]);
    const { x, width: own } = (await form.getByRole("button", { name: "Remove Monday, 13:00 to 24:00" }).boundingBox())!;
    expect(x + own, `${width}`).toBeLessThanOrEqual(width - 32);
  }
  expect(errors.filter((error) => !/40[1]|422/.test(error))).toEqual([]);
});

test("outside the hours the inbox and the chat say when the team opens", async () => {
  const workspace = await createWorkspace();
  await workspace.call("PATCH", "/business-hours", { ...closedHours(), closed_message: "We sleep." });
  await workspace.call("PATCH", `/agents/${workspace.agentId}`, { contact_form: { fields: [{ name: "email", required: true }] } });
  const { page: visitor } = await openPage({ viewport: { width: 375, height: 700 } });
  await visitor.goto(`${service.url}/chat/${workspace.agentId}`);
  await visitor.getByRole("textbox", { name: "Your message" }).fill("Can I talk to a human?");
  await visitor.keyboard.press("Enter");
  await visitor.getByRole("log").getByText("We sleep.").waitFor();
  await visitor.getByText("The team is not here right now").waitFor();
  await visitor.getByRole("button", { name: "Leave contact details" }).click();
  await visitor.getByLabel("Email").fill("ann@example.com");
  await visitor.getByRole("button", { name: "Submit" }).click();
  await visitor.getByText("We have received your details").waitFor();
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/inbox`);
  await page.getByRole("button", { name: /Can I talk to a human/ }).click();
  await page.getByText(/^Outside business hours, opens /).waitFor();
  expect(await findBarriers(page)).toEqual([]);
});

test("an agent is told never to hand off, in two languages, and the chat offers no human", async () => {
  const workspace = await createWorkspace();
  const path = `/agents/${workspace.agentId}`;
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/settings${path}`);
  const form = page.locator("form.card", { has: page.getByRole("heading", { name: "Hand-off" }) });
  await form.getByLabel("Words that always hand off").fill("lawyer\n\ncancel my contract");
  await form.getByRole("button", { name: "Save" }).click();
  await expect.poll(() => workspace.call("GET", path)).toMatchObject({ handoff: "on", handoff_words: ["lawyer", "cancel my contract"] });
  await form.getByLabel("Hands conversations to your team").uncheck();
  await form.getByLabel("Add a language").selectOption("en");
  await form.getByLabel("English", { exact: true }).fill("Only a machine answers here.");
  await form.getByLabel("Add a language").selectOption("de");
  await form.getByLabel("German", { exact: true }).fill("Hier antwortet nur eine Maschine.");
  await form.getByRole("button", { name: "Save" }).click();
  const handoff_off_messages = { en: "Only a machine answers here.", de: "Hier antwortet nur eine Maschine." };
  await expect
    .poll(() => workspace.call("GET", path))
    .toMatchObject({ handoff: "off", handoff_off_messages, handoff_words: { length: 2 } });
  expect(await findBarriers(page)).toEqual([]);
  const { page: visitor } = await openPage();
  await visitor.goto(`${service.url}/chat/${workspace.agentId}`);
  await visitor.getByRole("textbox", { name: "Your message" }).fill("Can I talk to a human?");
  await visitor.keyboard.press("Enter");
  await visitor.getByRole("log").getByText("Only a machine answers here.").waitFor();
  expect(await visitor.getByRole("button", { name: "Talk to a person" }).count()).toBe(0);
});
