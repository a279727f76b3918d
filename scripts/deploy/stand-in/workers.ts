import { randomUUID } from "node:crypto";
import { ApiError, type Call, type Routes } from "./account.ts";

/** A binding in the form in which a Worker is uploaded; secrets are bindings. */
export interface Binding {
  name: string;
  type: string;
  text?: string;
  id?: string;
  queue_name?: string;
  index_name?: string;
}

interface Metadata {
  bindings: Binding[];
  keep_bindings?: string[];
  migrations?: { new_tag: string };
}

/** The one Worker of an account. */
export class Workers {
  /** By name; undefined before the first deployment. */
  bindings: Map<string, Binding> | undefined;
  #migrationTag: string | undefined;
  /** Whether the account has what a binding names. */
  readonly #exists: (binding: Binding) => boolean;
  /** Whether the Worker consumes a queue. */
  readonly #isConsumer: () => boolean;

  constructor(exists: (binding: Binding) => boolean, isConsumer: () => boolean) {
    this.#exists = exists;
    this.#isConsumer = isConsumer;
  }

  readonly routes: Routes = [
    [/^GET workers\/services\/[^/]+$/, () => this.#service()],
    [/^GET workers\/scripts\/[^/]+\/secrets$/, () => this.#secrets().map(({ name, type }) => ({ name, type }))],
    [/^GET workers\/scripts\/[^/]+\/settings$/, () => ({ bindings: [...this.#worker().values()] })],
    [/^GET workers\/scripts\/[^/]+\/deployments$/, () => ({ deployments: this.#worker() && [] })],
    [/^POST workers\/scripts\/[^/]+\/assets-upload-session$/, () => ({ jwt: "jwt", buckets: [] })],
    [/^PUT workers\/scripts\/[^/]+$/, (call) => this.#upload(call)],
    [/^POST workers\/scripts\/[^/]+\/versions$/, (call) => this.#upload(call)],
    [/^DELETE workers\/services\/[^/]+$/, () => this.#delete()],
    // Before wrangler deletes a Worker, it looks for the namespaces in which older Workers stored their assets.
    [/^GET storage\/kv\/namespaces$/, () => []],
    [/^POST workers\/scripts\/[^/]+\/deployments$/, () => ({ id: randomUUID() })],
    [/^PATCH workers\/scripts\/[^/]+\/script-settings$/, () => ({})],
    [/^GET workers\/workers\/([^/]+)$/, (_, name) => ({ id: name, name, subdomain: { enabled: true, previews_enabled: true } })],
    [/^GET workers\/subdomain$/, () => ({ subdomain: "stand-in" })],
    [/^POST workers\/scripts\/[^/]+\/subdomain$/, () => ({ enabled: true, previews_enabled: true })],
    [/^PUT workers\/scripts\/[^/]+\/schedules$/, () => ({})],
  ];

  /** The secrets that the Worker holds, by name. */
  get secrets(): Record<string, string> {
    return Object.fromEntries(this.bindings ? this.#secrets().map(({ name, text }) => [name, text ?? ""]) : []);
  }

  /** Makes the Worker as an earlier deployment left it. */
  hold(bindings: Binding[], migrationTag: string): void {
    this.bindings = new Map(bindings.map((binding) => [binding.name, binding]));
    this.#migrationTag = migrationTag;
  }

  #secrets(): Binding[] {
    return [...this.#worker().values()].filter(({ type }) => type === "secret_text");
  }

  #worker(): Map<string, Binding> {
    if (!this.bindings) throw new ApiError(404, 10_007, "This Worker does not exist on your account.");
    return this.bindings;
  }

  #delete() {
    this.#worker();
    if (this.#isConsumer()) throw new ApiError(400, 10_064, "script still in use as a consumer for a queue");
    this.bindings = undefined;
  }

  #service() {
    this.#worker();
    const script = { last_deployed_from: "wrangler", migration_tag: this.#migrationTag, tags: [] };
    return { default_environment: { environment: "production", script } };
  }

  #upload({ body }: Call) {
    const { bindings, keep_bindings: kept = [], migrations } = metadataIn(body);
    const before = this.bindings ?? new Map<string, Binding>();
    const after = new Map([...before].filter(([, { type }]) => kept.includes(type)));
    for (const binding of bindings) {
      const old = before.get(binding.name);
      if (binding.type === "inherit" && !old) throw new ApiError(400, 10_057, `inherit binding '${binding.name}' is invalid`);
      if (!this.#exists(binding))
        throw new ApiError(400, 10_021, `binding ${binding.name} of type ${binding.type} names nothing that exists`);
      after.set(binding.name, binding.type === "inherit" ? old! : binding);
    }
    this.bindings = after;
    this.#migrationTag = migrations?.new_tag ?? this.#migrationTag;
    const id = randomUUID();
    return { id, etag: id, deployment_id: id.replaceAll("-", ""), startup_time_ms: 30, resources: { script: { etag: id } } };
  }
}

/** The part of a multipart upload that describes the Worker. */
function metadataIn(body: string): Metadata {
  const found = /name="metadata"\r\n\r\n(.*?)\r\n--/s.exec(body)?.[1];
  if (found === undefined) throw new ApiError(400, 10_021, "The upload describes no Worker");
  return JSON.parse(found) as Metadata;
}
