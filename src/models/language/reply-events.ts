import type { TextStreamPart, ToolSet } from "ai";
import { APICallError } from "@ai-sdk/provider";
import type { ToolRunner } from "./tool-runner.ts";
import { HandedOff } from "../model.ts";

/** What a model does, as far as its reply is concerned. */
export type ReplyEvent =
  | { type: "text"; text: string }
  /** It asked for tools: what it writes next is another part of the reply. */
  | { type: "round" }
  /** It was stopped by the limit of its length. */
  | { type: "cut" };

/**
 * The events of a model's whole run, its tools between them.
 * @throws HandedOff where a tool, or the server's own filter, ends the turn; any other error where the model fails.
 */
export async function* replyEvents(parts: AsyncIterable<TextStreamPart<ToolSet>>, runner: ToolRunner): AsyncGenerator<ReplyEvent> {
  for await (const part of parts) {
    if (runner.handedOff) throw runner.handedOff;
    switch (part.type) {
      case "text-delta":
        yield { type: "text", text: part.text };
        break;
      case "finish-step":
        if (part.finishReason === "content-filter") throw new HandedOff("unsupported_request");
        if (part.finishReason === "error" || part.finishReason === "interrupted")
          throw new Error(`The model ended with ${part.finishReason}`);
        if (part.finishReason === "tool-calls") yield { type: "round" };
        if (part.finishReason === "length") yield { type: "cut" };
        break;
      case "error":
        throw asError(part.error);
      case "abort":
        throw new DOMException("The model was stopped", "TimeoutError");
      default:
    }
  }
}

/** Servers send errors of every form within a stream. */
function asError(error: unknown): Error {
  if (APICallError.isInstance(error) || error instanceof Error) return error;
  return new Error("The model's stream holds an error");
}
