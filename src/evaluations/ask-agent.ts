import type { Redact } from "../agents/tool-call.ts";
import type { AgentRow } from "../agents/wire.ts";
import { type Answer, makeAnswer } from "../chat/answer.ts";
import { readingTools } from "../chat/built-in-tools.ts";
import { lastQuestions, searchFor } from "../chat/search.ts";
import { TraceRecorder } from "../chat/trace.ts";
import type { HistoryMessage, Model, Tool } from "../models/model.ts";
import type { Operation } from "../platform/db/client.ts";
import type { ToolUse } from "./expectations.ts";

/** The largest trace of a case. Small, since the traces of up to 500 cases are read at once. */
export const MAX_TRACE_BYTES = 3 * 1_024;

/** A case has no conversation. */
export const NO_CONVERSATION = "";

/** An agent, and what it is asked with. */
export interface AgentUnderTest {
  op: Operation;
  model: Model;
  agent: AgentRow;
  /** Masks the results of tools. */
  redact: Redact;
}

interface Reply {
  answer: Answer;
  observer: TraceRecorder;
  /** The tools that were called, in order. */
  calls: ToolUse[];
}

/**
 * Asks an agent a question. It is answered as in a turn, but nothing is stored or counted.
 * @param history the messages before it, oldest first.
 * @param tools the tools besides those that search and hand off.
 */
export async function askAgent(
  { op, model, agent }: AgentUnderTest,
  message: string,
  history: HistoryMessage[],
  tools: Tool[],
): Promise<Reply> {
  const observer = new TraceRecorder();
  const question = { workspaceId: agent.workspaceId, agentId: agent.id, conversationId: NO_CONVERSATION, message };
  const previous = history.filter(({ role }) => role === "visitor").map(({ text }) => text);
  const search = await searchFor({ op, question }, message, lastQuestions(previous));
  observer.searched(search);
  const calls: ToolUse[] = [];
  const recorded = [...readingTools({ op, question }), ...tools].map((tool) => recording(tool, calls));
  const request = { question, agent, history, retrieval: search.retrieval, tools: recorded, topics: [], observer };
  const answer = await makeAnswer(model, request, () => undefined);
  return { answer, observer, calls };
}

/** Has the agent's language model write. */
export type Write = (rules: string, material: string) => Promise<string>;

/** Returns the function with which an agent's model writes. It throws if there is no language model. */
export function writerOf({ model, agent }: AgentUnderTest): Write {
  return async (rules, material) => {
    if (!model.write) throw new Error("There is no language model");
    return model.write({ rules, material, modelName: agent.model });
  };
}

function recording(tool: Tool, calls: ToolUse[]): Tool {
  return {
    ...tool,
    run: (input, signal) => {
      calls.push({ name: tool.name, input });
      return tool.run(input, signal);
    },
  };
}
