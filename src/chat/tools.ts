import { indexOf } from "../knowledge/index.ts";
import { addLead } from "../leads/leads.ts";
import type { Tool, ToolOutcome } from "../models/model.ts";
import { Fault } from "../platform/telemetry/errors.ts";
import type { Meter } from "../platform/telemetry/meter.ts";
import type { Turn } from "./turn.ts";

/** Passages that a search of the model's own brings. */
const PASSAGES = 5;
const MAX_QUERY_LENGTH = 300;
/** Fewer digits are no phone number, and are soon found in any text. */
const MIN_PHONE_DIGITS = 5;

/** In which turn tools act, and for whom. */
export interface ToolContext {
  env: Env;
  meter: Meter;
  turn: Turn;
  visitorId: string | null;
  /** What the visitor has written in this context. */
  written: readonly string[];
}

/** The tools that every agent has. */
export function builtInTools(context: ToolContext): Tool[] {
  return [searchKnowledge(context), requestHuman, collectLead(context)];
}

function searchKnowledge({ env, meter, turn }: ToolContext): Tool {
  return {
    name: "search_knowledge",
    description: "Searches the company's knowledge for more passages. Use it when the passages at hand do not hold the answer.",
    parameters: {
      type: "object",
      properties: {
        query: { type: "string", minLength: 1, maxLength: MAX_QUERY_LENGTH, description: "What to look for, in a few words." },
      },
      required: ["query"],
    },
    run: async (input) => {
      const query = String(input["query"]);
      const index = indexOf(env, meter, turn.workspaceId, turn.agentId);
      return { kind: "found", query, retrieval: await index.search({ question: query, previousQuestions: [], limit: PASSAGES }) };
    },
  };
}

const requestHuman: Tool = {
  name: "request_human",
  description: "Hands the conversation to a person of the team. Use it when the visitor asks for one.",
  parameters: { type: "object", properties: {} },
  run: async () => ({ kind: "handed_off", reason: "customer_request" }),
};

function collectLead(context: ToolContext): Tool {
  return {
    name: "collect_lead",
    description:
      "Keeps the contact details that the visitor has just given, so that the team can get in touch. An email address or a phone number is needed.",
    parameters: {
      type: "object",
      properties: {
        name: { type: "string", maxLength: 120 },
        email: { type: "string", format: "email", maxLength: 320 },
        phone: { type: "string", maxLength: 40 },
        message: { type: "string", maxLength: 4_000, description: "What the visitor wants, in a sentence." },
      },
    },
    run: (input) => keepLead(context, input),
  };
}

/** Keeps only what the visitor wrote themselves: no page and no result can have somebody else's address kept. */
async function keepLead({ env, meter, turn, visitorId, written }: ToolContext, input: Record<string, unknown>): Promise<ToolOutcome> {
  const [email, phone] = [textOf(input["email"]), textOf(input["phone"])];
  const said = written.join("\n").toLowerCase();
  const isGiven = (email === null || said.includes(email.toLowerCase())) && (phone === null || hasPhone(said, phone));
  if (!isGiven || (email === null && phone === null))
    return { kind: "note", text: "Nothing was kept: ask the visitor for an email address or a phone number." };
  const { workspaceId, agentId, conversationId, answerId, nowMs } = turn;
  const [name, message] = [textOf(input["name"]), textOf(input["message"])];
  const fields = { agentId, conversationId, visitorId, name, email, phone, message, customFields: {}, sourceUrl: null };
  // The answer's identifier, so that a turn that is run again keeps them once.
  const lead = await addLead({ env, meter, workspaceId, nowMs }, fields, answerId);
  if (!lead) throw new Fault("The agent is gone");
  return { kind: "data", text: "The contact details are kept. The team gets in touch." };
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value.trim() !== "" ? value.trim() : null;
}

function hasPhone(said: string, phone: string): boolean {
  const digits = digitsOf(phone);
  return digits.length >= MIN_PHONE_DIGITS && digitsOf(said).includes(digits);
}

function digitsOf(text: string): string {
  return text.replaceAll(/\D/g, "");
}
