import { DurableObject } from "cloudflare:workers";
import type { Operation } from "../platform/db/client.ts";
import { LruCache } from "../platform/lru-cache.ts";
import { objectOf } from "../platform/objects.ts";
import { logRarely } from "../platform/telemetry/log.ts";
import { type Cost, Meter } from "../platform/telemetry/meter.ts";
import { HOUR_MS, withTimeout } from "../platform/time.ts";
import type { ApiKeyClaim } from "./api-key.ts";
import type { CallerKey, CallerWorkspace, Directory, KnownKey } from "./directory.ts";
import { SlidingWindow, type WindowState, WindowStore } from "./rate-limit.ts";

/** A caller. It does not change while the version of its workspace and keys is the same. */
export interface KnownCaller {
  version: string;
  workspace: CallerWorkspace;
  key: CallerKey;
}

/** The gate's answer to a request. It is small, since every request gets one. */
export type Admission = (
  | { outcome: "known"; window: WindowState; /** Missing if the isolate has it. */ caller?: KnownCaller }
  | { outcome: "unknown_workspace" }
  | { outcome: "unknown_key" }
  | { outcome: "revoked_key"; keyId: string }
) & {
  /** The cost of reading the workspace, if the request waited for that. */
  cost?: Cost;
};

/** A directory of this age is read again in the background. Requests use the current one until then. */
const REFRESH_AFTER_MS = 30_000;
/**
 * A directory of this age admits nobody. This bounds how long a revoked key stays valid if the service is interrupted between the change
 * in D1 and the reload that follows it.
 */
const MAX_AGE_MS = 60_000;
/**
 * Accepted requests within this time share one write of the window, which no response waits for. A planned eviction waits for
 * the write; a crash loses at most this much of the window. More frequent writes would cost throughput.
 */
const WRITE_DELAY_MS = 50;
/** The number of members whose requests are counted at the same time, which is more than work in one workspace. */
const MEMBERS = 1_000;
/** How often the use of a key of an outdated secret is recorded, which is enough to see whether it is still in use. */
const USE_INTERVAL_MS = HOUR_MS;

/** One object per workspace: it authenticates and rate limits each request in one call. */
export class WorkspaceGate extends DurableObject<Env> {
  /** Counts the requests of all keys. */
  private window = new SlidingWindow();
  /** Counts the requests of each member in the console, by member. It is only in memory. */
  private readonly members = new LruCache<string, SlidingWindow>(MEMBERS);
  private readonly store: WindowStore;
  /** A read that hangs longer has failed: requests that wait for it get 503, and the next one reads again. */
  private readonly readLimitMs = 5_000;
  /** Undefined until loaded; null if the workspace does not exist. */
  private directory: Directory | null | undefined;
  /** When the directory was read, Unix milliseconds. */
  private readAtMs = 0;
  /** The read that requests are waiting for. */
  private refreshing: Promise<void> | undefined;
  private reloads: Promise<void> = Promise.resolve();
  private writeIsDue = false;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.store = new WindowStore(ctx.storage);
    void ctx.blockConcurrencyWhile(async () => {
      this.window = new SlidingWindow(await this.store.load(Date.now()));
    });
  }

  /**
   * Checks a key, and counts the request against the rate limit: that of all keys of the workspace or, in the console, of the member.
   * @param knownVersion the version of the caller that the isolate has. If it is current, the caller is not sent again.
   */
  admit(claim: ApiKeyClaim, knownVersion?: string): Admission | Promise<Admission> {
    const read = this.refreshIfOld(Date.now());
    // A call that returns no promise saves a few percent of a request's time.
    return read ? read.then((cost) => ({ ...this.admitNow(claim, knownVersion), cost })) : this.admitNow(claim, knownVersion);
  }

  private admitNow(claim: ApiKeyClaim, knownVersion: string | undefined): Admission {
    if (!this.directory) return { outcome: "unknown_workspace" };
    const { version, workspace, keysByHash } = this.directory;
    const found = keysByHash.get(claim.hash);
    if (!found) return { outcome: "unknown_key" };
    const { key, expiresAtMs = Number.POSITIVE_INFINITY } = found;
    if (Date.now() >= expiresAtMs) return { outcome: "unknown_key" };
    if (found.isRevoked) return { outcome: "revoked_key", keyId: key.id };
    this.recordSecretUseSoon(found, claim, Date.now());
    const counted = this.windowOf(key);
    const window = counted.admit(Date.now(), workspace.limits.requests_per_minute);
    if (window.accepted && counted === this.window) this.writeSoon();
    return { outcome: "known", window, ...(version !== knownVersion && { caller: { version, workspace, key } }) };
  }

  /** Returns the window that counts the requests of a key. Each member in the console has one of their own, so that nobody uses up the limit of others. */
  private windowOf({ member, isApplication }: CallerKey): SlidingWindow {
    if (!member || isApplication) return this.window;
    let window = this.members.get(member.id);
    if (!window) {
      window = new SlidingWindow();
      this.members.set(member.id, window);
    }
    return window;
  }

  /**
   * Reloads keys and plan. Every change of them calls this before it responds, so that the next request sees it. A failure
   * discards the directory: it may hold a key that was just revoked.
   */
  async reload(): Promise<void> {
    try {
      await this.load(new Meter());
    } catch (error) {
      this.directory = undefined;
      throw error;
    }
  }

  /** Deletes the object's storage when the workspace is erased. */
  async erase(): Promise<void> {
    this.directory = null;
    this.window = new SlidingWindow();
    this.members.clear();
    await this.ctx.storage.deleteAll();
  }

  /** Reads the directory again if that is due. @returns the cost of the read, once it is done; undefined if requests need not wait for it. */
  private refreshIfOld(nowMs: number): Promise<Cost> | undefined {
    const ageMs = this.directory === undefined ? MAX_AGE_MS : nowMs - this.readAtMs;
    if (ageMs >= MAX_AGE_MS) {
      const meter = new Meter();
      return this.refresh(meter).then(() => meter.cost);
    }
    if (ageMs >= REFRESH_AFTER_MS) {
      this.ctx.waitUntil(this.refresh(new Meter()).catch((error: unknown) => logRarely("gate_not_refreshed", {}, error)));
    }
    return undefined;
  }

  /** One read serves all requests that need it. */
  private refresh(meter: Meter): Promise<void> {
    this.refreshing ??= this.load(meter).finally(() => {
      this.refreshing = undefined;
    });
    return this.refreshing;
  }

  /** Loads run one after another, so that an older result never replaces a newer one. */
  private load(meter: Meter): Promise<void> {
    const load = async () => {
      const nowMs = Date.now();
      this.directory = await withTimeout(this.readLimitMs, this.readDirectory(meter), "Reading the directory");
      this.readAtMs = nowMs;
    };
    const next = this.reloads.then(load, load);
    this.reloads = next;
    return next;
  }

  private async readDirectory(meter: Meter): Promise<Directory | null> {
    const { readDirectory } = await import("./directory.ts");
    return readDirectory(this.env, meter, this.workspaceId);
  }

  /**
   * Records which secret signed an API key, once, and each hour that an outdated one is in use. No response waits for it. Sessions are
   * too short for that.
   */
  private recordSecretUseSoon(known: KnownKey, { secretId, isOutdated }: ApiKeyClaim, nowMs: number): void {
    if (known.key.member) return;
    const isDue = isOutdated && nowMs >= (known.outdatedUseAtMs ?? 0) + USE_INTERVAL_MS;
    if (known.secretId === secretId && !isDue) return;
    known.secretId = secretId;
    if (isOutdated) known.outdatedUseAtMs = nowMs;
    this.ctx.waitUntil(this.recordUse(known));
  }

  private async recordUse(known: KnownKey): Promise<void> {
    const { recordUse } = await import("./directory.ts");
    await recordUse(this.env, this.workspaceId, known);
  }

  private writeSoon(): void {
    if (this.writeIsDue) return;
    this.writeIsDue = true;
    this.ctx.waitUntil(this.writeWindow());
  }

  private async writeWindow(): Promise<void> {
    await scheduler.wait(WRITE_DELAY_MS);
    this.writeIsDue = false;
    await this.store.save(this.window);
  }

  private get workspaceId(): string {
    return this.ctx.id.name!;
  }
}

/** Returns the gate of a workspace. */
export function gateOf({ env, meter, workspaceId }: Pick<Operation, "env" | "meter" | "workspaceId">): DurableObjectStub<WorkspaceGate> {
  meter.countObjectHop();
  return objectOf(env, env.GATE, workspaceId);
}

/** Makes a workspace's gate reload keys and plan. Call it before responding to a change of them. */
export async function reloadGate(op: Operation): Promise<void> {
  await gateOf(op).reload();
}
