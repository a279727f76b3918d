/*
 * A client of the Support Agent Service, for backends: it needs `fetch` and Web Crypto, and no other package.
 *
 *   const client = createClient({ baseUrl: "https://support.example.com", apiKey: process.env.API_KEY! });
 *   const { answer } = await client.askAgent({ agent_id, body: { message: "How long do refunds take?" } });
 */
import { toForm } from "./form.ts";
import { type Operations, ROUTES, type Schemas } from "./schema.ts";
import { type AnswerKey, followAnswer, type ResumePoint, type StreamEvent } from "./stream.ts";
import { createMethods, createSender, type MethodsFor, type SignalOptions, type Surface, type TransportOptions } from "./transport.ts";

export { paginate } from "./paginate.ts";
export type { Operations, Schemas } from "./schema.ts";
export { ApiError, type ErrorCode, type RateLimit, type ResponseInfo } from "./transport.ts";
export { verifyWebhook, type WebhookEvent, WebhookVerificationError } from "./webhook.ts";

export interface ClientOptions extends TransportOptions {
  /** A workspace API key. It is a secret: never ship it to a browser. */
  apiKey: string;
}

export interface CallOptions extends SignalOptions {
  /** A POST that is repeated with the same key and body takes effect once. By default each call gets a new key. */
  idempotencyKey?: string | undefined;
}

/** The events of a streamed answer, in order: `start`, any number of `delta`, `done`. A second `start` discards what came before it. */
export type AnswerEvent = StreamEvent<Schemas["ChatAnswer"]>;

/** A question. The method that is called decides whether the answer is streamed. */
export interface Question {
  agent_id: string;
  body: Omit<Schemas["ChatIn"], "stream">;
}

type Methods = MethodsFor<Operations, CallOptions>;

/** A method for each operation, named by its operationId. Each throws an {@link ApiError} if the service answers with an error. */
export interface Client extends Omit<Methods, "askAgent" | "createChatCompletion" | "resumeAnswer"> {
  /** The operation that OpenAI's own clients call. To stream it, use one of them. */
  createChatCompletion(
    question: { body: Omit<Schemas["ChatCompletionIn"], "stream" | "stream_options"> },
    options?: CallOptions,
  ): Promise<Schemas["ChatCompletion"]>;
  askAgent(question: Question, options?: CallOptions): Promise<Schemas["ChatAnswer"]>;
  /** Asks a question and yields the answer as it is written. A broken connection is resumed where it stopped. */
  streamAnswer(question: Question, options?: CallOptions): AsyncIterable<AnswerEvent>;
  /** Resumes the stream of an answer after the event `lastEventId`, or from its start. */
  resumeAnswer(answer: AnswerKey, options?: CallOptions & { lastEventId?: string | undefined }): AsyncIterable<AnswerEvent>;
}

/** Creates a client for one workspace. */
export function createClient(options: ClientOptions): Client {
  const surface: Surface = {
    routes: ROUTES,
    toForm,
    token: () => options.apiKey,
    idempotencyKey: (_, { idempotencyKey = crypto.randomUUID() }: CallOptions) => idempotencyKey,
  };
  const send = createSender(surface, options);
  const resume = (answer: AnswerKey, own: SignalOptions, id: string | undefined) => send("resumeAnswer", { ...answer }, own, id);
  const follow = (open: (id: string | undefined) => Promise<Response>, own: SignalOptions, from: ResumePoint = {}) =>
    followAnswer<Schemas["ChatAnswer"]>({ open, resume: (answer, id) => resume(answer, own, id), signal: own.signal, ...from }, options);
  return {
    ...(createMethods(surface, send) as Methods),
    streamAnswer: ({ agent_id, body }, own = {}) => follow(() => send("askAgent", { agent_id, body: { ...body, stream: true } }, own), own),
    resumeAnswer: (answer, { lastEventId, ...own } = {}) => follow((id) => resume(answer, own, id), own, { answer, lastEventId }),
  };
}
