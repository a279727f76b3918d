import { addLead } from "../leads/leads.ts";
import type { Tool, ToolOutcome } from "../models/model.ts";
import type { Question } from "./question.ts";
import { type SearchContext, searchKnowledge } from "./search.ts";

const MAX_QUERY_LENGTH = 300;
/** A shorter run of digits is not a phone number, and may occur in any text. */
const MIN_PHONE_DIGITS = 5;

/** The parts of a turn that the built-in tools use. */
export interface ToolContext extends SearchContext {
  question: Question;
  visitorId: string | null;
  /** The visitor's messages in this conversation since it was last resolved. */
  visitorMessages: readonly string[];
}

/** Returns the tools that every agent has. */
export function builtInTools(context: ToolContext): Tool[] {
  return [...readingTools(context), leadTool((input) => createLead(context, input))];
}

/** Returns the built-in tools that change nothing. */
export function readingTools(context: SearchContext): Tool[] {
  return [searchTool(context), requestHuman];
}

/** Returns the tool that searches the agent's knowledge. */
export function searchTool(context: SearchContext): Tool {
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
      return { kind: "found", query, retrieval: await searchKnowledge(context, query, []) };
    },
  };
}

const requestHuman: Tool = {
  name: "request_human",
  description: "Hands the conversation to a person of the team. Use it when the visitor asks for one.",
  parameters: { type: "object", properties: {} },
  run: async () => ({ kind: "handed_off", reason: "customer_request" }),
};

/** What the tool for contact details returns when it has kept them. */
export const LEAD_KEPT: ToolOutcome = { kind: "data", text: "The contact details are kept. The team gets in touch." };

/** Returns the tool that keeps a visitor's contact details. */
export function leadTool(run: Tool["run"]): Tool {
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
    run,
  };
}

/**
 * Stores contact details only if the visitor wrote them, so that a page or a tool's result cannot make the agent store an address. In the
 * playground it stores none, because nobody there is a visitor.
 */
async function createLead({ op, question, visitorId, visitorMessages }: ToolContext, input: Record<string, unknown>): Promise<ToolOutcome> {
  const [email, phone] = [textOf(input["email"]), textOf(input["phone"])];
  const said = visitorMessages.join("\n").toLowerCase();
  const isGiven = (email === null || said.includes(email.toLowerCase())) && (phone === null || hasPhone(said, phone));
  if (!isGiven || (email === null && phone === null))
    return { kind: "note", text: "Nothing was kept: ask the visitor for an email address or a phone number." };
  if (question.channel === "playground") return LEAD_KEPT;
  const { agentId, conversationId, answerId } = question;
  const [name, message] = [textOf(input["name"]), textOf(input["message"])];
  const fields = { agentId, conversationId, visitorId, name, email, phone, message, customFields: {}, sourceUrl: null };
  // The lead has the answer's id, so that a turn that runs again stores it once.
  const added = await addLead(op, fields, question.leadLimit, answerId);
  if (added.outcome === "rate_limited") return { kind: "note", text: "Nothing was kept: no more contact details can be taken today." };
  if (added.outcome === "not_found") return { kind: "note", text: "Nothing was kept: the contact details can no longer be stored." };
  return LEAD_KEPT;
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
