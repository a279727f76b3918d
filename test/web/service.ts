import type { TestProject } from "vitest/node";
import { startService } from "../../scripts/docs/service.ts";
import { startModel } from "./model.ts";

/** The service that all browser tests share, as a newcomer starts it, with a model that is a stand-in, and mail. */
export interface ServiceUnderTest {
  url: string;
  /** A key of all scopes of the demo workspace. */
  key: string;
  operatorToken: string;
  /** The demo agent. */
  agentId: string;
}

declare module "vitest" {
  // oxlint-disable-next-line typescript/consistent-type-definitions -- a declaration of vitest is extended
  interface ProvidedContext {
    service: ServiceUnderTest;
  }
}

/** Starts it once, before the first of these tests, and ends it after the last. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const model = await startModel();
  // The vectors of the demo's knowledge would keep a core busy for minutes, and the model is a stand-in.
  const variables = { ENCODE_SENTENCES: "false", OPENAI_BASE_URL: model.url, OPENAI_MODEL: "stand-in", MAIL_FROM: "sign-in@example.com" };
  const service = startService(variables);
  const stop = async () => {
    await service.stop();
    model.server.closeAllConnections();
    model.server.close();
  };
  try {
    const { SUPPORT_URL: url = "", SUPPORT_KEY: key = "", SUPPORT_AGENT: agentId = "" } = await service.variables;
    project.provide("service", { url, key, agentId, operatorToken: service.operatorToken() });
  } catch (error) {
    await stop();
    throw error;
  }
  return stop;
}
