import { moveShards } from "../../scripts/shards/shards.ts";
import type { Client } from "../../scripts/shared/service.ts";
import type { SoakClient } from "./client.ts";

const ALL_SHARDS = "0-255";
const DATABASES = ["DB_1", "DB"] as const;
const RETRY_MS = 500;

/** Moves all shards from one database to the other and back, again and again, while the service is used and killed. */
export class Splitting {
  /** How often all shards have moved. */
  moves = 0;
  private readonly client: Client;
  private isStopped = false;
  private running: Promise<void> = Promise.resolve();

  /** @param client sends requests with the operator's token. */
  constructor(client: SoakClient) {
    this.client = {
      send: async (method, path, body) => {
        const answer = await client.send({ method, path, body });
        if (!answer) throw new Error("The service was killed before it answered.");
        return answer;
      },
    };
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
    for (; !this.isStopped; this.moves++) {
      await moveShards(this.client, ALL_SHARDS, DATABASES[this.moves % DATABASES.length]!, () => undefined, RETRY_MS);
    }
  }
}
