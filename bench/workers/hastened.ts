import { env } from "cloudflare:workers";
import service, {
  ChatSession as Session,
  ConversationIndex as Conversations,
  KnowledgeIndex as Knowledge,
  SignIn as Links,
} from "../../src/index.ts";

export * from "../../src/index.ts";

/*
 * The service with a clock that is ahead of the platform's, so that the days of a retention pass within minutes. Only
 * `npm run soak -- --hours N` serves it. The clock goes at its usual pace, so that leases and timeouts keep their lengths, and is
 * advanced by a cron event. The platform's alarms go by its own clock: those that are set days ahead do not come within a run.
 */

/** The cron expression that advances the clock to so many milliseconds ahead. */
const ADVANCE = "ahead ";

let aheadMs = Number((env as unknown as { CLOCK_AHEAD_MS?: string }).CLOCK_AHEAD_MS ?? 0);

const platformNow = Date.now.bind(Date);
Date.now = () => platformNow() + aheadMs;

/** Makes a class whose alarms are set by the service's clock. */
function withAlarms<Class extends new (ctx: DurableObjectState, env: Env) => object>(Base: Class): Class {
  const By = Base as unknown as new (ctx: DurableObjectState, env: Env) => object;
  return class extends By {
    constructor(ctx: DurableObjectState, bindings: Env) {
      translateAlarms(ctx.storage);
      super(ctx, bindings);
    }
  } as unknown as Class;
}

function translateAlarms(storage: DurableObjectStorage): void {
  const setAlarm = storage.setAlarm.bind(storage);
  storage.setAlarm = (atMs, options) => setAlarm(Number(atMs) - aheadMs, options);
}

export const ChatSession = withAlarms(Session);
export const ConversationIndex = withAlarms(Conversations);
export const KnowledgeIndex = withAlarms(Knowledge);
export const SignIn = withAlarms(Links);

export default {
  ...service,
  async scheduled(event, bindings) {
    if (event.cron.startsWith(ADVANCE)) aheadMs = Number(event.cron.slice(ADVANCE.length));
    else await service.scheduled(event, bindings);
  },
} satisfies ExportedHandler<Env>;
