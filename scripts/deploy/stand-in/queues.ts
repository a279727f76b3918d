import { randomUUID } from "node:crypto";
import { ApiError, PAGE_SIZE, type Routes } from "./call.ts";

interface Consumer {
  consumer_id: string;
  type: "worker";
  script: string;
  dead_letter_queue?: string;
}

interface Queue {
  queue_id: string;
  queue_name: string;
  consumers: Consumer[];
}

/** The queues of an account with their consumers. */
export class Queues {
  readonly #queues: Queue[] = [];

  readonly routes: Routes = [
    [/^GET queues$/, ({ query }) => this.#page(Number(query.get("page") ?? 1), query.getAll("name"))],
    [/^POST queues$/, ({ body }) => toQueueResult(this.create((JSON.parse(body) as { queue_name: string }).queue_name))],
    [/^POST queues\/([^/]+)\/consumers$/, ({ body }, id) => this.#subscribe(this.#byId(id), body)],
    [/^PUT queues\/([^/]+)\/consumers\/[^/]+$/, (_, id) => this.#byId(id).consumers[0]],
    [/^DELETE queues\/([^/]+)\/consumers\/[^/]+$/, (_, id) => this.#byId(id).consumers.splice(0, 1).length],
    [/^DELETE queues\/([^/]+)$/, (_, id) => this.#queues.splice(this.#queues.indexOf(this.#byId(id)), 1).length],
  ];

  get names(): string[] {
    return this.#queues.map(({ queue_name: name }) => name);
  }

  /** The consumers of a queue, by script, with where their dead letters go. */
  consumersOf(name: string): string[] {
    const queue = this.#queues.find(({ queue_name: one }) => one === name);
    return queue?.consumers.map(({ script, dead_letter_queue: dead }) => `${script} ${dead ?? ""}`.trim()) ?? [];
  }

  create(name: string): Queue {
    if (this.names.includes(name)) throw new ApiError(409, 11_009, `Queue name '${name}' is already taken.`);
    const queue = { queue_id: randomUUID(), queue_name: name, consumers: [] };
    this.#queues.push(queue);
    return queue;
  }

  /** Has a script consume a queue. */
  consume(name: string, consumer: Omit<Consumer, "consumer_id" | "type">): Consumer {
    const { dead_letter_queue: dead } = consumer;
    if (dead !== undefined && !this.names.includes(dead)) throw new ApiError(400, 11_003, "Dead letter queue not found");
    const made: Consumer = { consumer_id: randomUUID(), type: "worker", ...consumer };
    this.#queues.find(({ queue_name: one }) => one === name)?.consumers.push(made);
    return made;
  }

  #byId(id: string): Queue {
    const queue = this.#queues.find(({ queue_id: one }) => one === id);
    if (!queue) throw new ApiError(404, 11_000, "Queue not found");
    return queue;
  }

  #page(page: number, names: string[]) {
    const found = names.length > 0 ? this.#queues.filter(({ queue_name: name }) => names.includes(name)) : this.#queues;
    return found.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE).map(toQueueResult);
  }

  #subscribe({ queue_name: name }: Queue, body: string) {
    const { script_name: script, dead_letter_queue: dead } = JSON.parse(body) as { script_name: string; dead_letter_queue?: string };
    return this.consume(name, { script, ...(dead !== undefined && { dead_letter_queue: dead }) });
  }
}

function toQueueResult(queue: Queue) {
  const { consumers } = queue;
  return {
    ...queue,
    producers: [],
    producers_total_count: 0,
    consumers_total_count: consumers.length,
    created_on: "2026-11-01",
    modified_on: "2026-11-01",
  };
}
