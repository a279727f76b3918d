/*
 * A client of the Support Agent Service, for backends: it needs `fetch` and Web Crypto, and no other package.
 *
 *   const client = createClient({ baseUrl: "https://support.example.com", apiKey: process.env.API_KEY! });
 *   const { answer } = await client.askAgent({ agent_id, body: { message: "How long do refunds take?" } });
 */
import { type Operations, ROUTES, type Schemas } from "./schema.ts";
import { type AnswerKey, type Broken, followAnswer, type StreamEvent } from "./stream.ts";
import { methodsOf, type MethodsFor, senderOf, type SignalOptions, type Surface, type TransportOptions } from "./transport.ts";

export { paginate } from "./paginate.ts";
export type { Operations, Schemas } from "./schema.ts";
export { ApiError, type ErrorCode, type RateLimit, type ResponseInfo } from "./transport.ts";
export { verifyWebhook, type WebhookEvent, WebhookVerificationError } from "./webhook.ts";

export interface ClientOptions extends TransportOptions {
  /** A workspace API key. It is a secret: never ship it to a browser. */
  apiKey: string;
}

export interface CallOptions extends SignalOptions {
  /** For a POST: one that is repeated with the same key and body is done once. One is made up for each call by default. */
  idempotencyKey?: string | undefined;
}

/** What a streamed answer says, in order: `start`, any number of `delta`, `done`. A second `start` means: begin anew. */
export type AnswerEvent = StreamEvent<Schemas["ChatAnswer"]>;

/** A question; whether to stream the answer is for the method to say. */
export interface Question {
  agent_id: string;
  body: Omit<Schemas["ChatIn"], "stream">;
}

type Methods = MethodsFor<Operations, CallOptions>;

/** A method for each operation, by its operationId. Each throws an {@link ApiError} where the service answers one. */
export interface Client extends Omit<Methods, "askAgent" | "createChatCompletion" | "resumeAnswer"> {
  /** What OpenAI's own clients call, which stream it too. */
  createChatCompletion(
    question: { body: Omit<Schemas["ChatCompletionIn"], "stream" | "stream_options"> },
    options?: CallOptions,
  ): Promise<Schemas["ChatCompletion"]>;
  askAgent(question: Question, options?: CallOptions): Promise<Schemas["ChatAnswer"]>;
  /** Asks, and gives the answer as it is written. Where the connection breaks, it goes on from there. */
  streamAnswer(question: Question, options?: CallOptions): AsyncIterable<AnswerEvent>;
  /** Goes on with an answer's stream after the event with this id, or from its start. */
  resumeAnswer(answer: AnswerKey, options?: CallOptions & { lastEventId?: string | undefined }): AsyncIterable<AnswerEvent>;
}

/** Makes a client of one workspace. */
export function createClient(options: ClientOptions): Client {
  const surface: Surface = {
    routes: ROUTES,
    token: () => options.apiKey,
    idempotencyKey: (_, { idempotencyKey = crypto.randomUUID() }: CallOptions) => idempotencyKey,
  };
  const send = senderOf(surface, options);
  const resume = (answer: AnswerKey, own: SignalOptions, id: string | undefined) => send("resumeAnswer", { ...answer }, own, id);
  const follow = (open: (id: string | undefined) => Promise<Response>, own: SignalOptions, from: Broken = {}) =>
    followAnswer<Schemas["ChatAnswer"]>({ open, resume: (answer, id) => resume(answer, own, id), signal: own.signal, ...from }, options);
  return {
    ...(methodsOf(surface, send) as Methods),
    streamAnswer: ({ agent_id, body }, own = {}) => follow(() => send("askAgent", { agent_id, body: { ...body, stream: true } }, own), own),
    resumeAnswer: (answer, { lastEventId, ...own } = {}) => follow((id) => resume(answer, own, id), own, { answer, lastEventId }),
  };
}
