import type { LanguageModelV4 } from "@ai-sdk/provider";
import { createWorkersAI } from "workers-ai-provider";
import { aiGateway, languageServer } from "../platform/config.ts";
import { ExtractiveEngine } from "./extractive.ts";
import { ConversationalModel } from "./language-model.ts";
import { MAX_RESPONSE_BYTES, type ModelLimits } from "./limits.ts";
import type { Model } from "./model.ts";
import { openAiServer } from "./openai-server.ts";

/** Workers AI's model where neither the deployment nor the agent names one: it calls tools, streams, and knows many languages. */
const WORKERS_AI_MODEL = "@cf/zai-org/glm-4.7-flash";

/** What tests put in the place of the network and of the clock. */
export interface EngineParts {
  fetch?: typeof fetch;
  limits?: ModelLimits;
}

/** The deployment's engine: the server that it names, else Workers AI where it is bound, else the knowledge's own sentences. */
export function engineFor(env: Env, { fetch: send, limits }: EngineParts = {}): Model {
  const engine = openAiCompatible(env, send) ?? workersAi(env);
  return engine ? new ConversationalModel(engine, limits) : new ExtractiveEngine();
}

type Engine = (name: string | null) => LanguageModelV4;

function openAiCompatible(env: Env, send?: typeof fetch): Engine | undefined {
  const server = languageServer(env);
  if (!server) return undefined;
  const provider = openAiServer(server, MAX_RESPONSE_BYTES, send);
  return (name) => provider.chatModel(name ?? server.model);
}

function workersAi(env: Env): Engine | undefined {
  if (!env.AI) return undefined;
  const provider = createWorkersAI({ binding: env.AI, ...aiGateway(env) });
  // To answer from what lies before it needs little thought, and thought is what a visitor waits for.
  return (name) => provider(name ?? WORKERS_AI_MODEL, name === null ? { reasoning_effort: "low" } : {});
}
