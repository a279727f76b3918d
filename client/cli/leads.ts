import { paginate, type Schemas } from "../index.ts";
import { defineCommand } from "./command.ts";
import { printCsv } from "./csv.ts";
import { connect } from "./environment.ts";
import { UsageError } from "./errors.ts";
import { print, printRecord, printTable, timeText } from "./terminal.ts";

export const listLeads = defineCommand({
  name: "leads ls",
  about: "Lists leads, newest first.",
  parameters: "",
  options: {
    agent: { type: "string", value: "ID", about: "Only of this agent." },
    q: { type: "string", value: "WORDS", about: "Only with these words." },
    since: { type: "string", value: "TIME", about: "Only those left since this time, such as 2026-01-31T00:00:00Z." },
    csv: { type: "boolean", about: "Prints the leads as CSV, with a line of column names." },
  },
  examples: ["support-agent leads ls --since 2026-01-31T00:00:00Z", "support-agent leads ls --csv > leads.csv"],
  run: async ({ options: { agent: agent_id, q, since: created_since, csv, json } }) => {
    const query = { agent_id, q, created_since };
    if (csv && json) throw new UsageError("Choose --csv or --json.");
    if (csv) return printCsv((client, place) => client.listLeads({ ...query, ...place }));
    const found: Schemas["Lead"][] = [];
    for await (const lead of paginate(connect().listLeads, query)) found.push(lead);
    if (json) return found.forEach(printRecord);
    if (found.length === 0) return print("No leads.");
    printTable(
      ["ID", "LEFT", "NAME", "EMAIL", "PHONE", "MESSAGE"],
      found.map(({ id, created_at, name, email, phone, message }) => [
        id,
        timeText(created_at),
        name ?? "",
        email ?? "",
        phone ?? "",
        message ?? "",
      ]),
    );
  },
});
