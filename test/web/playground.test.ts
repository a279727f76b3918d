import { expect, test } from "vitest";
import { openPage, service } from "./browser.ts";
import { createOffice, type Office, signIn } from "./office.ts";

/** A signed-in colleague in the playground. */
async function openPlayground(office: Office) {
  const { page } = await openPage();
  await signIn(page, office.key);
  await page.goto(`${service.url}/console/#/playground`);
  return page;
}

test("a question of the playground becomes a case of an evaluation, with the questions before it", async () => {
  const office = await createOffice();
  const { id: answerId } = await office.call<{ id: string }>("POST", `/agents/${office.agentId}/answers`, {
    question: "Do you deliver to Norway?",
    answer: "Yes, within five days.",
  });
  const page = await openPlayground(office);
  const ask = async (question: string) => {
    await page.getByLabel("Question").fill(question);
    await page.getByRole("button", { name: "Ask", exact: true }).click();
  };
  const saveCase = page.getByRole("button", { name: "Save as a case" });
  await ask("Do you deliver to Norway?");
  await saveCase.click();
  const dialog = page.getByRole("dialog", { name: "Save as a case" });
  await dialog.getByLabel("And says").fill("FIVE days");
  await dialog.getByLabel("And cites").selectOption("Curated answer: Do you deliver to Norway?");
  await dialog.getByLabel("Name").fill("Delivery");
  await dialog.getByRole("button", { name: "Save and run" }).click();
  await page.getByRole("link", { name: "Saved in “Delivery”" }).waitFor();
  await ask("And to Iceland?");
  await saveCase.click();
  await dialog.getByText("Asked after “Do you deliver to Norway?”.").waitFor();
  await dialog.getByText("Its question is asked again, with this one.").waitFor();
  await dialog.getByLabel("It is right when").selectOption("It hands over");
  await dialog.getByRole("button", { name: "Save and run" }).click();
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("link", { name: "Saved in “Delivery”" }).last().click();
  await page.getByText("2 of 2 asked: 2 right, 0 wrong, 0 refused").waitFor();
  await page.getByRole("cell", { name: "New" }).waitFor();
  const { data } = await office.call<{ data: { id: string }[] }>("GET", `/agents/${office.agentId}/evaluations`);
  expect(await office.call("GET", `/agents/${office.agentId}/evaluations/${data[0]!.id}`)).toMatchObject({
    name: "Delivery",
    cases: [
      { question: "Do you deliver to Norway?", previous: [], expect: { answer_contains: "FIVE days", source_id: answerId } },
      { question: "And to Iceland?", previous: ["Do you deliver to Norway?"], expect: { refusal: true } },
    ],
  });
});
