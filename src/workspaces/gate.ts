import { DurableObject } from "cloudflare:workers";
import type { Plan } from "../platform/db/columns.ts";
import { dbFor } from "../platform/db/client.ts";
import { logProblem } from "../platform/telemetry/log.ts";
import { type Cost, Meter } from "../platform/telemetry/meter.ts";
import type { ApiKeyClaim } from "./api-key.ts";
import { type Limits, limitsOf } from "./plans.ts";
import { expandScopes, type Scope } from "./scopes.ts";
import { findWorkspace, listKeys, recordSecretUse } from "./store.ts";
import { SlidingWindow, type WindowState, WindowStore } from "./window.ts";

export interface CallerWorkspace {
  id: string;
  name: string;
  slug: string;
  plan: Plan;
  limits: Limits;
}

interface CallerKey {
  id: string;
  name: string;
  prefix: string;
  scopes: Scope[];
}

/** The gate's answer: who this is, what it may do and how much is left. */
export type Admission =
  | { outcome: "known"; workspace: CallerWorkspace; key: CallerKey; window: WindowState; cost: Cost }
  | { outcome: "unknown_key"; cost: Cost }
  | { outcome: "revoked_key"; cost: Cost };

interface KnownKey {
  key: CallerKey;
  isRevoked: boolean;
  /** Which secret made it; null where that is not noted yet. */
  secretId: string | null;
  /** When it was last used under an outdated secret, Unix milliseconds, to the hour. */
  outdatedUseAtMs: number | null;
}

interface Directory {
  workspace: CallerWorkspace;
  keysByHash: Map<string, KnownKey>;
}

/**
 * How long an accepted request may stay unwritten. Requests of that time share one write, which no answer waits for:
 * a planned eviction waits for it, and a crash forgets this much of the window at the most. Writing more often costs
 * throughput, since each write waits for the disk.
 */
const WRITE_DELAY_MS = 50;
/** To the hour is enough to know whether a key of an outdated secret is still in use, and costs one write an hour. */
const USE_NOTE_MS = 60 * 60 * 1000;

/** One object a workspace: it admits each request in one hop. */
export class WorkspaceGate extends DurableObject<Env> {
  private window = new SlidingWindow();
  private readonly store: WindowStore;
  /** Undefined until read; null when there is no such workspace. */
  private directory: Directory | null | undefined;
  private reloads: Promise<void> = Promise.resolve();
  private writeIsDue = false;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.store = new WindowStore(ctx.storage);
    void ctx.blockConcurrencyWhile(async () => {
      this.window = new SlidingWindow(await this.store.load(Date.now()));
    });
  }

  /** Who holds the key of this claim, and whether the workspace may make one more request now. */
  async admit(claim: ApiKeyClaim): Promise<Admission> {
    const meter = new Meter();
    if (this.directory === undefined) await this.load(meter, () => this.directory === undefined);
    const cost = meter.cost;
    const found = this.directory?.keysByHash.get(claim.hash);
    if (!this.directory || !found) return { outcome: "unknown_key", cost };
    if (found.isRevoked) return { outcome: "revoked_key", cost };
    this.noteSecretSoon(found, claim, Date.now());
    const { key } = found;
    const { workspace } = this.directory;
    const window = this.window.admit(Date.now(), workspace.limits.requests_per_minute);
    if (window.accepted) this.writeSoon();
    return { outcome: "known", workspace, key, window, cost };
  }

  /** Reads keys and plan anew. Whoever changes one of them calls this before answering, so that the next request sees it. */
  async reload(): Promise<void> {
    await this.load(new Meter(), () => true);
  }

  /** Forgets everything that is stored: the workspace is erased. */
  async erase(): Promise<void> {
    this.directory = null;
    this.window = new SlidingWindow();
    await this.ctx.storage.deleteAll();
  }

  /**
   * Loads run one after another, so that an older reading never replaces a newer one. Where one fails, what was known is
   * forgotten: it may name a key that was revoked just now.
   */
  private load(meter: Meter, isNeeded: () => boolean): Promise<void> {
    const load = async () => {
      if (!isNeeded()) return;
      try {
        this.directory = await this.readDirectory(meter);
      } catch (error) {
        this.directory = undefined;
        throw error;
      }
    };
    const next = this.reloads.then(load, load);
    this.reloads = next;
    return next;
  }

  private async readDirectory(meter: Meter): Promise<Directory | null> {
    const workspaceId = this.ctx.id.name!;
    const db = dbFor(this.env, workspaceId, meter);
    const [[row], keys] = await db.batch([findWorkspace(db, workspaceId), listKeys(db, workspaceId)]);
    if (!row) return null;
    const { id, name, slug, plan } = row;
    const keysByHash = keys.map((row): [string, KnownKey] => {
      const key = { id: row.id, name: row.name, prefix: row.prefix, scopes: expandScopes(row.scopes) };
      return [row.hash, { key, isRevoked: row.revokedAt !== null, secretId: row.secretId, outdatedUseAtMs: row.outdatedUseAt }];
    });
    return { workspace: { id, name, slug, plan, limits: limitsOf(plan, row.limits) }, keysByHash: new Map(keysByHash) };
  }

  /** Notes which secret made a key, once, and that an outdated one is in use, hourly. No answer waits for it. */
  private noteSecretSoon(known: KnownKey, { secretId, isOutdated }: ApiKeyClaim, nowMs: number): void {
    const isDue = isOutdated && nowMs >= (known.outdatedUseAtMs ?? 0) + USE_NOTE_MS;
    if (known.secretId === secretId && !isDue) return;
    known.secretId = secretId;
    if (isOutdated) known.outdatedUseAtMs = nowMs;
    this.ctx.waitUntil(this.noteSecret(known));
  }

  /** One that fails is made up for: by the next hour's, or by the next object's first. */
  private async noteSecret({ key, secretId, outdatedUseAtMs }: KnownKey): Promise<void> {
    const db = dbFor(this.env, key.id, new Meter());
    try {
      await db.batch([recordSecretUse(db, this.ctx.id.name!, key.id, { secretId, outdatedUseAt: outdatedUseAtMs })]);
    } catch (error) {
      logProblem("key_note_failed", { key_id: key.id }, error);
    }
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
}
