import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { createWorkersAI } from "workers-ai-provider";
import { aiGateway, languageServer } from "../config.ts";
import { boundedFetch } from "./bounded-fetch.ts";
import { ConversationalModel } from "./language/conversational.ts";
import { ExtractiveEngine } from "./extractive-engine.ts";
import { MAX_RESPONSE_BYTES, type ModelLimits } from "./language/limits.ts";
import type { Model } from "./model.ts";

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

/** The operator's own configuration: unlike addresses that tenants give, it does not pass the egress guard, and may be inside. */
function openAiCompatible(env: Env, send: typeof fetch = (...request) => fetch(...request)): Engine | undefined {
  const server = languageServer(env);
  if (!server) return undefined;
  const { baseUrl, apiKey, model } = server;
  const provider = createOpenAICompatible({
    name: "openai-compatible",
    baseURL: baseUrl,
    includeUsage: true,
    fetch: boundedFetch(send, MAX_RESPONSE_BYTES),
    ...(apiKey !== undefined && { apiKey }),
  });
  return (name) => provider.chatModel(name ?? model);
}

function workersAi(env: Env): Engine | undefined {
  if (!env.AI) return undefined;
  const provider = createWorkersAI({ binding: env.AI, ...aiGateway(env) });
  // To answer from what lies before it needs little thought, and thought is what a visitor waits for.
  return (name) => provider(name ?? WORKERS_AI_MODEL, name === null ? { reasoning_effort: "low" } : {});
}
