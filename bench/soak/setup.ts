import { seed, type Seed } from "../seed.ts";
import { buildService, buildVariant, createSecrets } from "../service.ts";
import { type Receiver, startReceiver } from "../stand-ins/receiver.ts";
import { serveSite } from "../stand-ins/site.ts";
import { RECORD_EVENTS } from "./check.ts";
import { SoakClient } from "./client.ts";
import { KillableService } from "./killable-service.ts";
import type { Target } from "./load.ts";

/** A service under load with what it talks to. */
export interface World {
  service: KillableService;
  operatorToken: string;
  receiver: Receiver;
  target: Target;
  tenant: Seed;
}

const MAILBOX = "help@example.com";
const SITE_PAGES = 12;

/**
 * Starts a service on a storage, with a workspace whose events have a receiver, while the work is done.
 * @param isHastened whether its clock can be advanced.
 */
export async function withWorld<Result>(state: string, isHastened: boolean, work: (world: World) => Promise<Result>): Promise<Result> {
  const { OPERATOR_TOKEN: operatorToken, ...secrets } = createSecrets();
  // A split needs a second database.
  const build = { ...(await (isHastened ? buildVariant("hastened") : buildService())), hasSecondDatabase: true };
  const bindings = { OPERATOR_TOKEN: operatorToken, ...secrets, ALLOW_PRIVATE_TARGETS: "true", CRAWL_PAUSE_MS: "0" };
  const service = new KillableService(isHastened ? 20_000 : 5_000, build, bindings, state);
  const [receiver, site] = await Promise.all([startReceiver(), serveSite(SITE_PAGES)]);
  try {
    service.start();
    const tenant = await seed({ port: await service.port, operatorToken });
    const { agentId, scratchAgentId, workspaceId } = tenant;
    await tenant.operate("PATCH", `/workspaces/${workspaceId}/agents/${agentId}`, { email_address: MAILBOX });
    for (const type of Object.values(RECORD_EVENTS)) {
      await tenant.call("POST", "/webhooks", { url: receiver.url(`/${type}`), events: [type] });
    }
    const client = new SoakClient(service, tenant.headers);
    const target = { client, agentId, scratchAgentId, mailbox: MAILBOX, siteOrigin: site.origin };
    return await work({ service, operatorToken, receiver, target, tenant });
  } finally {
    await service.kill();
    await Promise.all([receiver.close(), site.close()]);
  }
}
