/** What is delivered to one endpoint. */
export interface Turn {
  webhookId: string;
}

/**
 * Orders the deliveries of a batch: endpoints take turns, so that one with many deliveries does not delay the others,
 * and none has more than `maxOpen` requests open at once.
 */
export class Turns<Delivery extends Turn> {
  private readonly waiting: Map<string, Delivery[]>;
  private readonly open = new Map<string, number>();
  private readonly left = new Set<string>();

  constructor(
    deliveries: readonly Delivery[],
    private readonly maxOpen: number,
  ) {
    this.waiting = Map.groupBy(deliveries, ({ webhookId }) => webhookId);
  }

  /** The next delivery; undefined when none may start now. Every delivery taken must be passed to `end` or `leave`. */
  take(): Delivery | undefined {
    for (const [webhookId, queue] of this.waiting) {
      const open = this.open.get(webhookId) ?? 0;
      if (open >= this.maxOpen || this.left.has(webhookId)) continue;
      const next = queue.shift();
      // Taken out and put back, it stands behind the others.
      this.waiting.delete(webhookId);
      if (queue.length > 0) this.waiting.set(webhookId, queue);
      this.open.set(webhookId, open + 1);
      return next;
    }
    return undefined;
  }

  /** Notes that a delivery is over. */
  end({ webhookId }: Turn): void {
    this.open.set(webhookId, this.open.get(webhookId)! - 1);
  }

  /** Notes that the batch no longer waits for a delivery: its endpoint gets no more turns in this batch. */
  leave({ webhookId }: Turn): void {
    this.left.add(webhookId);
  }

  isLeft(webhookId: string): boolean {
    return this.left.has(webhookId);
  }

  /** The deliveries that were not taken. */
  rest(): Delivery[] {
    return [...this.waiting.values()].flat();
  }
}
