import type { ChatMessage, ChatModel } from "../models/chat-model.ts";
import { MAX_ANSWER_LENGTH, type ModelLimits } from "../models/limits.ts";
import type { WritingTask } from "../models/model.ts";
import { truncate } from "../platform/text.ts";
import { Evidence } from "./evidence.ts";
import { replyEvents } from "./tool-loop.ts";
import { ToolRunner } from "./tool-runner.ts";

/** The time for a text. No visitor waits for it, but a step of the background work does. */
const MAX_WRITING_MS = 30_000;

/** Has a model write a text without tools, of at most MAX_ANSWER_LENGTH. Reasoning is left out. @throws Error if the model fails. */
export async function writeText(
  { model, limits }: { model: ChatModel; limits: ModelLimits },
  { rules, material }: Omit<WritingTask, "modelName">,
): Promise<string> {
  const messages: ChatMessage[] = [
    { role: "system", text: rules },
    { role: "user", text: material },
  ];
  const engine = { model, limits: { ...limits, answerMs: Math.min(limits.answerMs, MAX_WRITING_MS) } };
  let text = "";
  for await (const event of replyEvents(engine, messages, new ToolRunner([], new Evidence(""), limits))) {
    if (event.type === "restart") text = "";
    if (event.type === "text") text += event.text;
    if (text.length > MAX_ANSWER_LENGTH) break;
  }
  return truncate(text.trim(), MAX_ANSWER_LENGTH);
}
