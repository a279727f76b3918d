import { WORKERS_AI_MODELS } from "../../../src/models/limits.ts";
import { ApiError, PAGE_SIZE, type Routes } from "./call.ts";

/** A zone with what Email Routing does in it. */
export interface Zone {
  id: string;
  name: string;
  status: string;
  supportsSubaddress: boolean;
  /** The domains that may send mail; undefined where the token may not read them. */
  sending: string[] | undefined;
  /** The address that is routed to a Worker, by the Worker's name. */
  routed: Record<string, string>;
}

/** What is switched on in an account; as it stands here, all that a deployment needs. */
export class Products {
  plan: "free" | "paid" | "enterprise" | "unreadable" = "paid";
  metrics: "on" | "off" | "unreadable" = "on";
  models: string[] = Object.values(WORKERS_AI_MODELS);
  zones: Zone[] = [];

  readonly routes: Routes = [
    [/^GET subscriptions$/, () => this.#subscriptions()],
    [/^POST analytics_engine\/sql$/, () => this.#metrics()],
    [
      /^GET ai\/models\/search$/,
      ({ query }) => this.models.filter((name) => name.includes(query.get("search") ?? "")).map((name) => ({ name })),
    ],
    [/^GET zones$/, ({ query }) => this.zones.slice((Number(query.get("page")) - 1) * PAGE_SIZE, Number(query.get("page")) * PAGE_SIZE)],
    [/^GET zones\/([^/]+)\/email\/routing$/, (_, id) => ({ enabled: true, support_subaddress: this.#zone(id).supportsSubaddress })],
    [/^GET zones\/([^/]+)\/email\/routing\/rules$/, (_, id) => toRules(this.#zone(id))],
    [/^GET zones\/([^/]+)\/email\/sending\/subdomains$/, (_, id) => this.#sending(id)],
  ];

  #zone(id: string): Zone {
    return this.zones.find((zone) => zone.id === id)!;
  }

  #subscriptions() {
    if (this.plan === "unreadable") throw new ApiError(403, 10_000, "Authentication error");
    if (this.plan === "free") return [];
    const name = this.plan === "paid" ? "Workers Paid" : "Enterprise";
    return [{ rate_plan: { id: name.toLowerCase().replace(" ", "_"), public_name: name } }];
  }

  #sending(id: string) {
    const domains = this.#zone(id).sending;
    if (!domains) throw new ApiError(403, 10_000, "Authentication error");
    return domains.map((name) => ({ name, enabled: true }));
  }

  #metrics() {
    if (this.metrics !== "on") throw new ApiError(403, 10_000, "Forbidden");
    return {};
  }
}

function toRules({ routed }: Zone) {
  return Object.entries(routed).map(([worker, value]) => ({
    enabled: true,
    matchers: [{ type: "literal", field: "to", value }],
    actions: [{ type: "worker", value: [worker] }],
  }));
}
