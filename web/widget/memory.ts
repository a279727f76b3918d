/** The state that a browser stores about its visitor of an agent. */
interface VisitorState {
  /** The visitor's token from the last answer. */
  token?: string | undefined;
  /** The subject of the last identity token of the page. */
  subject?: string | undefined;
  /** The id of the conversation that is shown. */
  conversation?: string | undefined;
  /** Whether a human may reply in it. The loader reads this. */
  live?: boolean | undefined;
  /** The id of the last message that the visitor has seen. */
  seen?: string | undefined;
  /** The ids of the conversations that were rated. */
  concluded?: string[];
  /** The ratings of answers, by their ids. */
  ratings?: Record<string, "up" | "down">;
}

/** The number of ratings that are remembered. */
const MAX_REMEMBERED = 50;

/** Keeps the state in localStorage, or until the page is closed if the page may not use that. */
export class Memory {
  readonly key: string;
  private state: VisitorState;
  /** Whether the state could be stored. If not, the storage may have an earlier one. */
  private isStored = true;

  constructor(agentId: string) {
    this.key = `support-agent:${agentId}`;
    this.state = this.read();
  }

  /** The state. All tabs of a browser have the same visitor and ratings, but each may show another conversation of that visitor. */
  get value(): Readonly<VisitorState> {
    if (!this.isStored) return this.state;
    const stored = this.read();
    const { conversation, live, seen } = this.state;
    // Without a token, another tab has forgotten the visitor.
    return !stored.token || stored.conversation === conversation ? stored : { ...stored, conversation, live, seen };
  }

  set(changes: VisitorState): void {
    this.state = { ...this.value, ...changes };
    this.write();
  }

  clear(): void {
    this.state = {};
    this.write();
  }

  conclude(conversationId: string): void {
    this.set({ concluded: [...(this.value.concluded ?? []), conversationId].slice(-MAX_REMEMBERED) });
  }

  rate(messageId: string, rating: "up" | "down" | undefined): void {
    const others = Object.entries(this.value.ratings ?? {}).filter(([id]) => id !== messageId);
    this.set({ ratings: Object.fromEntries([...others, ...(rating ? [[messageId, rating] as const] : [])].slice(-MAX_REMEMBERED)) });
  }

  private read(): VisitorState {
    try {
      return JSON.parse(localStorage.getItem(this.key) ?? "{}") as VisitorState;
    } catch {
      return {};
    }
  }

  private write(): void {
    try {
      localStorage.setItem(this.key, JSON.stringify(this.state));
    } catch {
      // The page may not use the storage, or it is full.
      this.isStored = false;
    }
  }
}
