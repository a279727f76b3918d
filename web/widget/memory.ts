/** The state that a browser stores about its visitor of an agent. */
interface VisitorState {
  /** The visitor's token from the last answer. */
  token?: string | undefined;
  /** The subject of the last identity token of the page. */
  subject?: string | undefined;
  /** The id of the conversation that is shown. */
  conversation?: string | undefined;
  /** Whether a human may reply in it. The loader reads this. */
  live?: boolean;
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
  private readonly key: string;
  private state: VisitorState;

  constructor(agentId: string) {
    this.key = `support-agent:${agentId}`;
    this.state = this.read();
  }

  get value(): Readonly<VisitorState> {
    return this.state;
  }

  set(changes: VisitorState): void {
    // Another tab may have changed the state.
    this.state = { ...this.state, ...this.read(), ...changes };
    this.write();
  }

  clear(): void {
    this.state = {};
    this.write();
  }

  conclude(conversationId: string): void {
    this.set({ concluded: [...(this.state.concluded ?? []), conversationId].slice(-MAX_REMEMBERED) });
  }

  rate(messageId: string, rating: "up" | "down" | undefined): void {
    const others = Object.entries(this.state.ratings ?? {}).filter(([id]) => id !== messageId);
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
      // The page may not use the storage.
    }
  }
}
