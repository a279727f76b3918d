import type { TestProject } from "vitest/node";
import { startService } from "../../scripts/docs/service.ts";

/** The service that all browser tests share, as a newcomer starts it. */
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
  const service = startService();
  try {
    const { SUPPORT_URL: url = "", SUPPORT_KEY: key = "", SUPPORT_AGENT: agentId = "" } = await service.variables;
    project.provide("service", { url, key, agentId, operatorToken: service.operatorToken() });
  } catch (error) {
    await service.stop();
    throw error;
  }
  return service.stop;
}
