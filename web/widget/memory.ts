/** What a browser keeps of its visitor of an agent. */
export interface Kept {
  /** The visitor's token, of the last answer. */
  token?: string | undefined;
  /** Whom the page's identity token named last. */
  subject?: string | undefined;
  /** The conversation that is shown. */
  conversation?: string | undefined;
  /** Whether a reply of a human may come in it. The loader looks for it. */
  live?: boolean;
  /** The last message that the visitor has seen. */
  seen?: string | undefined;
  /** The conversations that were rated, or whose rating was skipped. */
  concluded?: string[];
  /** How answers were rated. */
  ratings?: Record<string, "up" | "down">;
}

/** So many of the latest are remembered. */
const MAX_REMEMBERED = 50;

/** Keeps it in localStorage; where a page may not use that, for as long as the page is open. */
export class Memory {
  private readonly key: string;
  private kept: Kept;

  constructor(agentId: string) {
    this.key = `support-agent:${agentId}`;
    this.kept = this.read();
  }

  get value(): Readonly<Kept> {
    return this.kept;
  }

  set(changes: Kept): void {
    // Another tab may have changed it.
    this.kept = { ...this.kept, ...this.read(), ...changes };
    this.write();
  }

  clear(): void {
    this.kept = {};
    this.write();
  }

  conclude(conversationId: string): void {
    this.set({ concluded: [...(this.kept.concluded ?? []), conversationId].slice(-MAX_REMEMBERED) });
  }

  rate(messageId: string, rating: "up" | "down" | undefined): void {
    const others = Object.entries(this.kept.ratings ?? {}).filter(([id]) => id !== messageId);
    this.set({ ratings: Object.fromEntries([...others, ...(rating ? [[messageId, rating] as const] : [])].slice(-MAX_REMEMBERED)) });
  }

  private read(): Kept {
    try {
      return JSON.parse(localStorage.getItem(this.key) ?? "{}") as Kept;
    } catch {
      return {};
    }
  }

  private write(): void {
    try {
      localStorage.setItem(this.key, JSON.stringify(this.kept));
    } catch {
      // The page may not store anything: it is kept until the page is left.
    }
  }
}
