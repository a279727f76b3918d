import type { Schemas } from "../index.ts";
import { defineCommand, deleteEach, onlyParameter } from "./command.ts";
import { connect } from "./environment.ts";
import { note, print, printRecord, printTable, timeText } from "./terminal.ts";

export const addWebhook = defineCommand({
  name: "webhooks add",
  about: "Adds a webhook endpoint, and prints its signing secret, which is shown only once.",
  parameters: "URL",
  options: {
    events: { type: "string", value: "TYPES", about: "The event types, separated by commas. Default: all." },
    description: { type: "string", value: "TEXT", about: "A description for your team." },
  },
  examples: ["support-agent webhooks add https://hooks.example.com/support --events handoff.created,message.human_replied"],
  run: async ({ parameters, options }) => {
    const { events = "*", description } = options;
    // The service refuses an unknown type, and names the known ones.
    const types = events.split(",") as Schemas["WebhookIn"]["events"];
    const body = { url: onlyParameter(parameters, "URL"), events: types, description };
    const added = await connect().createWebhook({ body });
    if (options.json) return printRecord(added);
    print(`${added.id}  ${added.url}`);
    print(added.secret);
    note("Store the secret now: it is not shown again.");
  },
});

export const listWebhooks = defineCommand({
  name: "webhooks ls",
  about: "Lists the webhook endpoints of the workspace.",
  parameters: "",
  options: {},
  examples: ["support-agent webhooks ls"],
  run: async ({ options }) => {
    const { data } = await connect().listWebhooks();
    if (options.json) return data.forEach(printRecord);
    if (data.length === 0) return print("No webhook endpoints yet.");
    printTable(
      ["ID", "STATE", "LAST SUCCESS", "EVENTS", "URL"],
      data.map(({ id, enabled, disabled_reason, last_success_at, events, url }) => [
        id,
        enabled ? "enabled" : `disabled${disabled_reason ? `: ${disabled_reason}` : ""}`,
        timeText(last_success_at),
        events.join(","),
        url,
      ]),
    );
  },
});

export const removeWebhooks = defineCommand({
  name: "webhooks rm",
  about: "Deletes webhook endpoints.",
  parameters: "WEBHOOK_ID ...",
  options: {},
  examples: ["support-agent webhooks rm 019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00"],
  run: async ({ parameters }) => {
    const client = connect();
    await deleteEach(parameters, "WEBHOOK_ID", (webhook_id) => client.deleteWebhook({ webhook_id }));
  },
});
