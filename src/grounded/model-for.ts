import { aiGateway, languageServer } from "../platform/config.ts";
import type { ChatModel } from "../models/chat-model.ts";
import { openAiModel, workersAiModel } from "../models/chat-servers.ts";
import { ExtractiveEngine } from "../extractive/engine.ts";
import { LanguageModelEngine } from "./engine.ts";
import { LOCAL_MODEL_LIMITS, MODEL_LIMITS, type ModelLimits, WORKERS_AI_MODELS } from "../models/limits.ts";
import type { Model } from "../models/model.ts";

const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/** Replacements that tests make. */
export interface ModelOverrides {
  fetch?: typeof fetch;
  limits?: ModelLimits;
}

/** The deployment's model: on the configured server, else on Workers AI where it is bound, else the extractive engine. */
export function modelFor(env: Env, { fetch: send, limits }: ModelOverrides = {}): Model {
  const languageModels = openAiLanguageModels(env, send) ?? workersAiLanguageModels(env);
  return languageModels ? new LanguageModelEngine(languageModels, limits ?? limitsFor(env)) : new ExtractiveEngine();
}

function limitsFor(env: Env): ModelLimits {
  const server = languageServer(env);
  return server && LOOPBACK_HOST.test(new URL(server.baseUrl).hostname) ? LOCAL_MODEL_LIMITS : MODEL_LIMITS;
}

/** Language models by name; null names the default. */
type LanguageModels = (name: string | null) => ChatModel;

function openAiLanguageModels(env: Env, send?: typeof fetch): LanguageModels | undefined {
  const server = languageServer(env);
  return server && ((name) => openAiModel(server, name ?? server.model, send));
}

function workersAiLanguageModels(env: Env): LanguageModels | undefined {
  const { AI: ai } = env;
  return ai && ((name) => workersAiModel(ai, name ?? WORKERS_AI_MODELS.language, aiGateway(env)));
}
