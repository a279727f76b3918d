import { computed, type Signal, signal } from "@preact/signals";
import type { ToolFunctions } from "../../client/stream.ts";
import { ApiError, newQuestionKey } from "../../client/transport.ts";
import { type AnswerEvent, FIRST_PAUSE_MS, followAnswer, pause, type Question } from "./answer.ts";
import { Api, type ApiAnswer, type ApiMessage, type Contact, type ConversationStatus } from "./api.ts";
import type { EventName, Settings } from "./host.ts";
import { type Attachment, textOfFiles } from "../shared/attachments.ts";
import type { Uploads } from "../shared/uploads.ts";
import { claimsOf, type IdentitySource, readIdentity } from "./identity.ts";
import { Memory } from "./memory.ts";
import { localMessage, type Message, toMessage } from "./message.ts";
import { Poller } from "./poller.ts";
import { isIdentityRefused, type Problem, problemOf } from "./problem.ts";

/** An answer that is being written. Its text is empty before the first word. */
export interface Draft {
  /** The key of the question. */
  key: string;
  text: string;
}

/** The most messages that one request returns. */
const POLL_LIMIT = 200;

/** The part of the chat that its window shows. */
export type View = "chat" | "history" | "contact";

interface ChatOptions {
  service: string;
  settings: Settings;
  channel: "widget" | "hosted";
  view: Signal<View>;
  emit: (event: EventName, detail: Record<string, unknown>) => void;
  /** Whether the chat is in a page. Otherwise it asks for no messages. */
  isInPage: () => boolean;
  /** Asks the visitor to confirm that they are human, and returns the token that proves it. @throws ChallengeError */
  solveChallenge: () => Promise<string>;
}

/** The state of a visitor's conversation with an agent, and the actions of the visitor. */
export class Chat {
  readonly messages = signal<readonly Message[]>([]);
  readonly draft = signal<Draft | undefined>(undefined);
  readonly status = signal<ConversationStatus | undefined>(undefined);
  readonly problem = signal<Problem | undefined>(undefined);
  readonly isReconnecting = signal(false);
  /** Whether an earlier conversation is being loaded. A question before that would hide its messages. */
  readonly isLoading = signal(false);
  /** The text that the visitor is writing. */
  readonly text = signal("");
  readonly unread = signal(0);
  /** Whether the visitor can see the messages. */
  readonly isShown = signal(false);
  readonly ratings = signal<Readonly<Record<string, "up" | "down">>>({});
  readonly concluded = signal<readonly string[]>([]);
  /** Whether the visitor has left contact details, and need not be asked for them. */
  readonly hasContact = signal(false);
  /** The name and email address of the visitor that the page has identified, for the contact form. */
  readonly profile = signal<{ name?: string; email?: string }>({});
  /** When the team opens next; null while it is there. */
  readonly opensAt = signal<string | null>(null);
  /** A text for screen readers to announce. */
  readonly announcement = signal("");
  /** Whether a human has taken over the conversation, or has been requested. */
  readonly isWithHuman = computed(() => this.status.value === "needs_human" || this.status.value === "human_active");
  /** What the visitor is told. A pause of the agent does not concern a conversation that a human has. */
  readonly notice = computed((): Problem | undefined => {
    const problem = this.problem.value ?? (this.options.settings.status === "paused" ? { kind: "paused" } : undefined);
    return problem?.kind === "paused" && this.isWithHuman.value ? undefined : problem;
  });

  readonly memory: Memory;
  readonly api: Api;
  /** The files of the message that the visitor is writing; undefined until the parts for files are loaded. */
  readonly uploads = signal<Uploads | undefined>(undefined);
  private readonly poller: Poller;
  /** Ends when the questions before have been answered: they are asked one at a time. */
  private queue: Promise<void> = Promise.resolve();
  /** Counts the conversations that were shown. An answer to a conversation that is no longer shown is discarded. */
  private epoch = 0;
  /** With what the page identifies its visitor; undefined if it does not. */
  private identitySource: IdentitySource;
  /** The current identity token. It rejects if the function of the page fails. */
  private identity: Promise<string | undefined> = Promise.resolve(undefined);
  /** Custom fields that the page has set. They are sent with contact details. */
  private context: Record<string, string> = {};
  /** The functions of the page that agents may call. */
  private tools: ToolFunctions = {};

  constructor(private readonly options: ChatOptions) {
    const { service, settings, channel } = options;
    this.opensAt.value = settings.opens_at;
    this.memory = new Memory(settings.id);
    this.api = new Api(service, settings.id, channel, this.memory);
    this.poller = new Poller(
      () => this.catchUp(),
      () => this.api.follow(this.memory.value.conversation!),
    );
    this.readMemory();
    // The loader of another tab has forgotten the visitor. The next one may be stored already, so the memory stays.
    addEventListener("storage", ({ key }) => key === `${this.memory.key}:reset` && this.unidentify());
  }

  /** Shows the conversation of an earlier visit, if there is one. */
  async restore(): Promise<void> {
    const { epoch } = this;
    const { conversation, token } = this.memory.value;
    if (!conversation || !token) return;
    this.isLoading.value = true;
    // It may be the conversation of a different person than the one that the page is about to name.
    await this.identity.catch(() => undefined);
    const again = () => pause(FIRST_PAUSE_MS).then(() => this.catchUp());
    // If the service stays unavailable, the visitor can ask nevertheless.
    if (epoch === this.epoch) await Promise.allSettled([this.catchUp().catch(again)]);
    if (epoch === this.epoch) this.isLoading.value = false;
    this.watch();
  }

  // --- The visitor -----------------------------------------------------------------------------------------------------

  /**
   * Identifies the visitor with a token of the page, or with a function that gets one and is called again when the service refuses its
   * token. A different person than before does not see the earlier conversations.
   */
  identify(source: IdentitySource): void {
    this.identitySource = source;
    if (this.problem.value?.kind === "identity_rejected") this.problem.value = undefined;
    this.identity = this.loadIdentity(source);
    // A failure is reported when the visitor sends a message.
    this.identity.catch(() => undefined);
  }

  private async loadIdentity(source: IdentitySource): Promise<string | undefined> {
    const token = typeof source === "function" ? await readIdentity(source) : source;
    // The page may have identified somebody else in the meantime.
    if (source !== this.identitySource) return await this.identity;
    const { sub: subject, name, email } = claimsOf(token);
    const { subject: before } = this.memory.value;
    if (before !== undefined && before !== subject) {
      this.memory.clear();
      this.forget();
    }
    this.memory.set({ subject });
    this.profile.value = { ...(name && { name }), ...(email && { email }) };
    return token;
  }

  setContext(context: Record<string, string>): void {
    this.context = { ...this.context, ...context };
  }

  setTools(tools: ToolFunctions): void {
    this.tools = { ...this.tools, ...tools };
  }

  /** Forgets the visitor, for example after a sign-out. */
  reset(): void {
    this.memory.clear();
    this.unidentify();
  }

  /** Ends the identity that `identify` set, and removes everything that this tab shows. */
  private unidentify(): void {
    this.identitySource = undefined;
    this.identity = Promise.resolve(undefined);
    this.forget();
  }

  private forget(): void {
    this.profile.value = {};
    this.hasContact.value = false;
    this.text.value = this.announcement.value = "";
    this.uploads.value?.take();
    this.options.view.value = "chat";
    this.clear();
  }

  // --- Conversations ---------------------------------------------------------------------------------------------------

  /** Shows an earlier conversation, or starts a new one. */
  async openConversation(id: string | undefined): Promise<void> {
    const unsent = this.messages.value.filter(({ key, state }) => state && (this.isReconnecting.value || key !== this.draft.value?.key));
    this.memory.set({ conversation: id, seen: undefined, live: false });
    this.clear();
    // What waited for an answer before it, or failed, is not lost.
    const texts = unsent.map(({ content, attachments }) => (content === textOfFiles(attachments) ? "" : content));
    this.text.value = [...texts, this.text.value].join("\n").trim();
    this.uploads.value?.restore(unsent.flatMap(({ attachments }) => attachments));
    await this.restore();
  }

  private clear(): void {
    this.epoch++;
    this.poller.stop();
    this.messages.value = [];
    this.draft.value = undefined;
    this.status.value = undefined;
    this.problem.value = undefined;
    this.isReconnecting.value = this.isLoading.value = false;
    this.unread.value = 0;
    this.readMemory();
  }

  private readMemory(): void {
    this.ratings.value = this.memory.value.ratings ?? {};
    this.concluded.value = this.memory.value.concluded ?? [];
  }

  // --- Asking ----------------------------------------------------------------------------------------------------------

  /** Whether the visitor must prove that they are human, as with the first message. Until then they may not add files. */
  get needsProof(): boolean {
    return this.options.settings.turnstile_site_key !== null && !this.memory.value.token;
  }

  /** Sends a message once the earlier ones have been answered. Without a text, it has the names of its files. */
  send(text: string, attachments: readonly Attachment[] = []): Promise<void> {
    const message = this.addLocal(text || textOfFiles(attachments), attachments);
    // An answer that is the same as the last one is announced too.
    this.announcement.value = "";
    this.options.emit("message_sent", { conversation_id: this.memory.value.conversation ?? null });
    return this.enqueue(message);
  }

  /** Sends a failed message again. */
  retry(message: Message): Promise<void> {
    this.problem.value = undefined;
    this.change(message.key, { state: "sending" });
    return this.enqueue(message);
  }

  private enqueue(message: Message): Promise<void> {
    const { epoch } = this;
    this.queue = this.queue.then(() => (epoch === this.epoch ? this.ask(message, epoch) : undefined));
    return this.queue;
  }

  /** @param mayRenew whether a new identity token may be asked for, if the service refuses this one. */
  private async ask(message: Message, epoch: number, mayRenew = true): Promise<void> {
    const question: Question = {
      message: message.content,
      attachments: message.attachments.map(({ id }) => id),
      key: message.key,
      identity: undefined,
      turnstile: undefined,
      tools: this.tools,
    };
    this.poller.pause();
    this.problem.value = undefined;
    this.draft.value = { key: message.key, text: "" };
    try {
      question.identity = await this.identity;
      if (epoch !== this.epoch) return;
      if (this.needsProof && !question.identity) question.turnstile = await this.options.solveChallenge();
      if (epoch !== this.epoch) return;
      for await (const event of followAnswer(this.api, question)) {
        if (epoch !== this.epoch) return;
        this.apply(event, message.key);
      }
    } catch (error) {
      if (epoch !== this.epoch) return;
      if (this.forgetLostConversation(error)) return await this.ask(message, epoch, mayRenew);
      if (mayRenew && isIdentityRefused(error) && typeof this.identitySource === "function") {
        this.identify(this.identitySource);
        return await this.ask(message, epoch, false);
      }
      this.change(message.key, { state: "failed" });
      this.problem.value = problemOf(error, this.messages.value.length);
      if (isIdentityRefused(error)) {
        this.options.emit("identity_rejected", { conversation_id: this.memory.value.conversation ?? null, reason: error.message });
      }
    } finally {
      if (epoch === this.epoch) {
        this.draft.value = undefined;
        this.isReconnecting.value = false;
        this.watch();
      }
    }
  }

  private apply(event: AnswerEvent, key: string): void {
    this.isReconnecting.value = event.type === "reconnecting";
    switch (event.type) {
      case "start":
        this.change(key, { state: undefined });
        this.memory.set({ conversation: event.conversation_id, ...(event.visitor_token && { token: event.visitor_token }) });
        this.draft.value = event.message_id === null ? undefined : { key, text: "" };
        break;
      case "delta":
        this.draft.value = { key, text: (this.draft.value?.text ?? "") + event.text };
        break;
      case "done":
        this.finish(event.answer, key);
        break;
      case "complete":
        void this.catchUp();
        break;
    }
  }

  private finish(answer: ApiAnswer & { visitor_token?: string }, key: string): void {
    const { conversation_id: conversation, message_id: id, status, citations } = answer;
    const text = answer.answer ?? "";
    if (answer.visitor_token) this.memory.set({ token: answer.visitor_token, conversation });
    this.change(key, { state: undefined });
    this.status.value = status;
    // The agent says nothing after a human has taken over.
    if (id === null) return;
    this.add({ ...localMessage(`answer-${key}`, "assistant", text), id, citations, canRate: !answer.needs_human });
    this.draft.value = undefined;
    this.announcement.value = text;
    this.markSeen();
    const detail = { conversation_id: conversation, message_id: id, confidence: answer.confidence };
    this.options.emit("answered", detail);
    if (answer.needs_human) this.options.emit("handed_off", { ...detail, reason: answer.handoff_reason });
  }

  /** Forgets a conversation or token that the service no longer knows. @returns whether to ask the question again, in a new conversation. */
  private forgetLostConversation(error: unknown): boolean {
    const { token, conversation } = this.memory.value;
    const isGone = error instanceof ApiError && (error.code === "invalid_visitor_token" || error.status === 404);
    if (!isGone || (error.status === 404 ? !conversation : !token)) return false;
    this.memory.set({ token: error.status === 404 ? token : undefined, conversation: undefined, seen: undefined, live: false });
    this.poller.stop();
    this.status.value = undefined;
    return true;
  }

  // --- Messages from others --------------------------------------------------------------------------------------------

  /** Reads new messages and the status of the conversation. @returns whether anything has changed. */
  async catchUp(): Promise<boolean> {
    const { epoch } = this;
    const { conversation, token } = this.memory.value;
    // Another tab has forgotten the visitor.
    if (!token && this.status.value) this.forget();
    if (!conversation || !token || this.draft.value) return false;
    for (let hasNews = false; ; hasNews = true) {
      const known = this.messages.value.findLastIndex(({ id }) => id !== null) + 1;
      const after = this.messages.value[known - 1]?.id ?? undefined;
      const {
        data,
        status,
        opens_at: opensAt,
      } = await this.api.poll(conversation, after).catch((error: unknown) => this.forgetIfGone(error, epoch));
      if (epoch !== this.epoch || this.draft.value) return hasNews;
      const isNews = data.length > 0 || status !== this.status.value;
      const { value: wasWithHuman } = this.isWithHuman;
      const { value: before } = this.status;
      [this.status.value, this.opensAt.value] = [status, opensAt];
      if (this.isWithHuman.value !== wasWithHuman) this.watch();
      for (const message of data) this.receive(message, known);
      this.countUnread();
      const isResolved = status === "resolved" && before !== undefined && before !== status;
      if (isResolved) this.options.emit("resolved", { conversation_id: conversation });
      if (data.length < POLL_LIMIT) return hasNews || isNews;
    }
  }

  private forgetIfGone(error: unknown, epoch: number): never {
    if (epoch === this.epoch && error instanceof ApiError && (error.status === 401 || error.status === 404)) {
      this.memory.set({ token: error.status === 401 ? undefined : this.memory.value.token, conversation: undefined, live: false });
      // The files were uploaded with the token that is gone.
      if (error.status === 401) this.uploads.value?.take();
      this.clear();
      this.problem.value = { kind: "session_ended" };
    }
    throw error;
  }

  /** @param known the number of messages before those that are read; without any, these are of an earlier visit and are not announced. */
  private receive(message: ApiMessage, known: number): void {
    // Two reads at the same time return the same message.
    if (this.messages.value.some(({ id }) => id === message.id)) return;
    if (message.role === "user") {
      // A message that was written here comes back with its id. If redaction has changed its text, it is matched with the first message
      // that was sent and has no id yet.
      const isOwn = ({ id, role }: Message) => id === null && role === "user";
      const own =
        this.messages.value.findLast((one) => isOwn(one) && one.content === message.content) ??
        this.messages.value.slice(known).find((one) => isOwn(one) && !one.state);
      if (own) return this.change(own.key, { id: message.id, content: message.content, state: undefined });
    }
    this.add(toMessage(message));
    if (known === 0 || message.role === "user") return;
    this.announcement.value = message.content;
    if (message.role === "system") return;
    this.options.emit("message_received", { conversation_id: message.conversation_id, message_id: message.id, role: message.role });
  }

  /** Polls for messages, more often while a human may reply. */
  private watch(): void {
    const isLive = this.isWithHuman.value;
    const { conversation, live } = this.memory.value;
    if (!conversation || !this.options.isInPage()) return this.poller.stop();
    if (live !== isLive) this.memory.set({ live: isLive });
    this.poller.start(isLive ? "human" : this.isShown.value ? "agent" : "none");
  }

  /** Called when the panel is opened or closed, and when it is put into a page or removed. */
  setShown(isShown: boolean): void {
    this.isShown.value = isShown;
    if (isShown) this.markSeen();
    if (!this.draft.value) this.watch();
  }

  private markSeen(): void {
    const last = this.messages.value.findLast(({ id }) => id !== null)?.id;
    this.unread.value = 0;
    if (last && this.memory.value.seen !== last) this.memory.set({ seen: last });
  }

  private countUnread(): void {
    if (this.isShown.value && document.visibilityState === "visible") return this.markSeen();
    const { seen } = this.memory.value;
    const lastSeen = this.messages.value.findIndex(({ id }) => id === seen);
    this.unread.value = this.messages.value.slice(lastSeen + 1).filter(({ role }) => role === "human").length;
  }

  // --- Other actions of the visitor --------------------------------------------------------------------------------------

  async requestHuman(): Promise<void> {
    const { epoch } = this;
    const { conversation } = this.memory.value;
    if (!conversation) return;
    try {
      const { status } = await this.api.requestHuman(conversation);
      if (epoch !== this.epoch) return;
      this.status.value = status;
      if (this.isWithHuman.value) this.options.emit("handed_off", { conversation_id: conversation, reason: "customer_request" });
      await this.catchUp();
    } catch (error) {
      if (epoch !== this.epoch) return;
      this.problem.value = problemOf(error, this.messages.value.length);
    }
    this.watch();
  }

  /** Rates an answer. The rating is shown at once, and removed if the request fails. @returns whether that worked. */
  async rate(message: Message, rating: "up" | "down", comment?: string): Promise<boolean> {
    const { conversation } = this.memory.value;
    if (!conversation || message.id === null) return false;
    const before = this.ratings.value[message.id];
    this.setRating(message.id, rating);
    try {
      await this.api.rateMessage(conversation, message.id, rating, comment);
    } catch (error) {
      this.setRating(message.id, before);
      this.problem.value = problemOf(error, this.messages.value.length);
      return false;
    }
    this.options.emit("rated", { conversation_id: conversation, message_id: message.id, rating });
    return true;
  }

  private setRating(messageId: string, rating: "up" | "down" | undefined): void {
    this.memory.rate(messageId, rating);
    this.readMemory();
  }

  /** Rates the conversation; the last rating counts. @returns whether that worked. */
  async rateConversation(score: number, comment?: string): Promise<boolean> {
    const { conversation } = this.memory.value;
    if (!conversation) return false;
    try {
      await this.api.rateConversation(conversation, score, comment);
    } catch (error) {
      this.problem.value = problemOf(error, this.messages.value.length);
      return false;
    }
    this.options.emit("rated", { conversation_id: conversation, score });
    this.memory.conclude(conversation);
    return true;
  }

  /** @throws ApiError, or TypeError if the network fails. */
  async sendContact(contact: Contact): Promise<void> {
    const turnstile = this.needsProof ? await this.options.solveChallenge() : undefined;
    await this.api.sendContact({ ...contact, custom_fields: { ...this.context, ...contact.custom_fields } }, turnstile);
    this.hasContact.value = true;
    this.options.emit("contact_sent", { conversation_id: this.memory.value.conversation ?? null });
  }

  // --- The list of messages ----------------------------------------------------------------------------------------------

  private addLocal(content: string, attachments: readonly Attachment[]): Message {
    const message: Message = { ...localMessage(newQuestionKey(), "user", content), attachments, state: "sending" };
    this.add(message);
    return message;
  }

  private add(message: Message): void {
    if (message.id !== null && this.messages.value.some(({ id }) => id === message.id)) return;
    this.messages.value = [...this.messages.value, message];
  }

  private change(key: string, changes: { [Name in keyof Message]?: Message[Name] | undefined }): void {
    this.messages.value = this.messages.value.map((message) => (message.key === key ? ({ ...message, ...changes } as Message) : message));
  }
}
