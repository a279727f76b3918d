import type { Schemas } from "../../client/widget-schema.ts";
import type { AnswerKey } from "../../client/stream.ts";
import { ApiError } from "../../client/transport.ts";
import type { Question } from "./answer.ts";
import type { Memory } from "./memory.ts";

export type ApiMessage = Schemas["NewMessages"]["data"][number];
export type PastConversation = Schemas["PastConversation"];
export type ApiAnswer = Schemas["VisitorAnswer"];
export type Citation = Schemas["Citation"];
export type ConversationStatus = ApiAnswer["status"];

/** The contact details that a visitor leaves in the form. */
export interface Contact {
  name?: string;
  email?: string;
  phone?: string;
  message?: string;
  custom_fields: Record<string, string>;
}

type ErrorBody = ConstructorParameters<typeof ApiError>[1] & { error?: { visitor_token?: string } };

/** An error of the visitors' API. That of a question that the service stored has the token for reading its answer. */
export type VisitorError = ApiError & { token: string | undefined };

const REQUEST_TIMEOUT_MS = 30_000;

interface RequestOptions {
  body?: unknown;
  headers?: Record<string, string>;
  signal: AbortSignal;
}

/** The visitors' operations of one agent. Each throws an ApiError, or a TypeError if the network fails. */
export class Api {
  constructor(
    private readonly service: string,
    private readonly agentId: string,
    private readonly channel: "widget" | "hosted",
    private readonly memory: Memory,
  ) {}

  /** Asks the agent. The response is a stream of events. */
  ask({ message, attachments, key, identity, turnstile, tools }: Question, signal: AbortSignal) {
    const { token, conversation } = this.memory.value;
    const body = {
      message,
      attachments,
      stream: true,
      channel: this.channel,
      conversation_id: token ? conversation : undefined,
      visitor_token: token,
      identity_token: identity,
      turnstile_token: turnstile,
      client_tools: Object.keys(tools),
    };
    return this.send("POST", `agents/${this.agentId}/messages`, { body, headers: { "Idempotency-Key": key }, signal });
  }

  /** The address for uploads, and the fields that say who uploads. */
  get uploadTarget(): { url: string; fields: Record<string, string> } {
    const { token } = this.memory.value;
    return { url: `${this.service}/widget/v1/agents/${this.agentId}/attachments`, fields: token ? { visitor_token: token } : {} };
  }

  /** Resumes the stream of an answer after the last event that was read. */
  resume({ conversation_id: conversation, message_id: message }: AnswerKey, lastEventId: string | undefined, signal: AbortSignal) {
    const headers = { ...this.authorization, ...(lastEventId !== undefined && { "Last-Event-ID": lastEventId }) };
    return this.send("GET", `conversations/${conversation}/messages/${message}/stream`, { headers, signal });
  }

  /** Sends the results of tools that the page ran. The response is a stream of events. */
  sendToolResults({ conversation_id: conversation, message_id: message }: AnswerKey, results: unknown[], signal: AbortSignal) {
    const body = { results, stream: true };
    const path = `conversations/${conversation}/messages/${message}/tool-results`;
    return this.send("POST", path, { body, headers: this.authorization, signal });
  }

  /** Lists the messages after a known one. */
  poll(conversationId: string, after: string | undefined): Promise<Schemas["NewMessages"]> {
    return this.json("GET", `conversations/${conversationId}/messages${after ? `?after=${after}` : ""}`);
  }

  /** Opens a socket on which the service announces new messages of a conversation. @throws DOMException if the page's policy forbids it. */
  follow(conversationId: string): WebSocket {
    const url = `${this.service.replace(/^http/, "ws")}/widget/v1/conversations/${conversationId}/live`;
    return new WebSocket(url, ["support-agent", this.memory.value.token!]);
  }

  listConversations(): Promise<{ data: PastConversation[] }> {
    return this.json("GET", "conversations");
  }

  requestHuman(conversationId: string): Promise<{ status: ConversationStatus; handoff_message: string }> {
    return this.json("POST", `conversations/${conversationId}/handoff`);
  }

  rateMessage(conversationId: string, messageId: string, rating: "up" | "down", comment?: string): Promise<unknown> {
    return this.json("POST", `conversations/${conversationId}/messages/${messageId}/feedback`, { rating, comment });
  }

  rateConversation(conversationId: string, score: number, comment?: string): Promise<unknown> {
    return this.json("POST", `conversations/${conversationId}/csat`, { score, comment });
  }

  /** Sends contact details. The service stores the same details once a day. */
  sendContact(contact: Contact, turnstile: string | undefined): Promise<unknown> {
    const { token, conversation } = this.memory.value;
    const proof = token ? { visitor_token: token, conversation_id: conversation } : { turnstile_token: turnstile };
    const body = { ...contact, ...proof, source_url: location.protocol.startsWith("http") ? location.href.slice(0, 2000) : undefined };
    return this.json("POST", `agents/${this.agentId}/leads`, body);
  }

  private get authorization(): Record<string, string> {
    const { token } = this.memory.value;
    return token ? { Authorization: `Bearer ${token}` } : {};
  }

  private async json<Body>(method: string, path: string, body?: unknown): Promise<Body> {
    const response = await this.send(method, path, {
      body,
      headers: this.authorization,
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    return (await response.json()) as Body;
  }

  private async send(method: string, path: string, { body, headers = {}, signal }: RequestOptions): Promise<Response> {
    const init: RequestInit = { method, headers, credentials: "omit", signal };
    if (body !== undefined) {
      init.body = JSON.stringify(body);
      init.headers = { ...headers, "Content-Type": "application/json" };
    }
    const response = await fetch(`${this.service}/widget/v1/${path}`, init);
    if (response.ok) return response;
    const failure = (await response.json().catch(() => ({}))) as ErrorBody;
    throw Object.assign(new ApiError(response, failure), { token: failure.error?.visitor_token }) satisfies VisitorError;
  }
}
