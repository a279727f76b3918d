import { setTimeout as sleep } from "node:timers/promises";
import type { SoakClient } from "./client.ts";

const ALL_SHARDS = "0-255";
const DATABASES = ["DB_1", "DB"] as const;
const PAUSE_MS = 500;

interface ShardMove {
  state: "copying" | "comparing" | "switching" | "done";
}

/** Moves all shards from one database to the other and back, again and again, while the service is used and killed. */
export class Splitting {
  /** How often all shards have moved. */
  moves = 0;
  private readonly client: SoakClient;
  private isStopped = false;
  private running: Promise<void> = Promise.resolve();

  /** @param client sends requests with the operator's token. */
  constructor(client: SoakClient) {
    this.client = client;
  }

  start(): void {
    this.running = this.moveAgainAndAgain();
  }

  /** Finishes the move that is under way, and starts no other. */
  async stop(): Promise<void> {
    this.isStopped = true;
    await this.running;
  }

  private async moveAgainAndAgain(): Promise<void> {
    while (!this.isStopped) {
      await this.move(`/operator/v1/databases/${DATABASES[this.moves % DATABASES.length]!}/shard-move`);
      this.moves++;
    }
  }

  /** Starts a move and continues it until it is done, however often its requests are interrupted. */
  private async move(path: string): Promise<void> {
    await this.client.call("PUT", path, { shards: ALL_SHARDS });
    for (;;) {
      const response = await this.client.send({ method: "POST", path });
      // The request that ended the move may have been interrupted after that.
      if (response?.status === 404 || (response?.body as ShardMove | undefined)?.state === "done") return;
      if (response && response.status < 500 && response.status !== 200)
        throw new Error(`${path} answered ${JSON.stringify(response.body)}`);
      await sleep(PAUSE_MS);
    }
  }
}
