/*
 * A client of the Support Agent Service, for backends: it needs `fetch` and Web Crypto, and no other package.
 *
 *   const client = createClient({ baseUrl: "https://support.example.com", apiKey: process.env.API_KEY! });
 *   const { answer } = await client.askAgent({ agent_id, body: { message: "How long do refunds take?" } });
 */
import { toForm } from "./form.ts";
import { type Operations, ROUTES, type Schemas } from "./schema.ts";
import { type AnswerKey, followAnswer, readEvents, type ResumePoint, runTools, type StreamEvent, type ToolFunctions } from "./stream.ts";
import { createMethods, createSender, type MethodsFor, type SignalOptions, type Surface, type TransportOptions } from "./transport.ts";

export type { ToolCall, ToolFunctions } from "./stream.ts";
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

export interface AskOptions extends CallOptions {
  /** The agent's client tools that you run, by name. Without them, an agent that has such tools answers with a `required_action`. */
  tools?: ToolFunctions | undefined;
}

/** The events of a streamed answer, in order: `start`, any number of `delta` and `tool_call`, `done`. A second `start` discards what came before it. */
export type AnswerEvent = StreamEvent<Schemas["ChatAnswer"]>;

/** The events of a streamed suggestion, in order: any number of `delta`, `done`. */
export type SuggestionEvent = Extract<StreamEvent<Schemas["SuggestedReply"]>, { type: "delta" | "done" }>;

/** The conversation for which a reply is suggested. The method that is called decides whether the suggestion is streamed. */
export interface SuggestionInput {
  conversation_id: string;
  body?: Schemas["SuggestedReplyIn"];
}

/** A question. The method that is called decides whether the answer is streamed. */
export interface Question {
  agent_id: string;
  body: Omit<Schemas["ChatIn"], "stream">;
}

type Methods = MethodsFor<Operations, CallOptions>;

/** A method for each operation, named by its operationId. Each throws an {@link ApiError} if the service answers with an error. */
export interface Client extends Omit<Methods, "askAgent" | "sendToolResults" | "createChatCompletion" | "resumeAnswer" | "suggestReply"> {
  /** The operation that OpenAI's own clients call. To stream it, use one of them. */
  createChatCompletion(
    question: { body: Omit<Schemas["ChatCompletionIn"], "stream" | "stream_options"> },
    options?: CallOptions,
  ): Promise<Schemas["ChatCompletion"]>;
  /** Asks a question, and runs the client tools that the agent calls. */
  askAgent(question: Question, options?: AskOptions): Promise<Schemas["ChatAnswer"]>;
  /** Asks a question and yields the answer as it is written. A broken connection is resumed where it stopped. */
  streamAnswer(question: Question, options?: AskOptions): AsyncIterable<AnswerEvent>;
  /** Sends the results of client tools, if `askAgent` is called without them. */
  sendToolResults(
    results: AnswerKey & { body: Omit<Schemas["ToolResultsIn"], "stream"> },
    options?: CallOptions,
  ): Promise<Schemas["ChatAnswer"]>;
  /** Suggests a reply to the team. */
  suggestReply(conversation: SuggestionInput, options?: CallOptions): Promise<Schemas["SuggestedReply"]>;
  /** Suggests a reply, and yields it as it is written. The `done` event has the whole suggestion. */
  streamSuggestedReply(conversation: SuggestionInput, options?: CallOptions): AsyncIterable<SuggestionEvent>;
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
  const methods = createMethods(surface, send) as Methods;
  const withTools = ({ agent_id, body }: Question, tools: ToolFunctions | undefined) => ({
    agent_id,
    body: tools ? { client_tools: Object.keys(tools), ...body } : body,
  });
  const keyOf = ({ conversation_id, message_id }: Schemas["ChatAnswer"]) => ({ conversation_id, message_id: message_id! });
  async function* streamAnswer(question: Question, { tools, ...own }: AskOptions): AsyncGenerator<AnswerEvent, void> {
    const { agent_id, body } = withTools(question, tools);
    const later = withoutKey(own);
    let events = follow(() => send("askAgent", { agent_id, body: { ...body, stream: true } }, own), own);
    for (let waiting: Schemas["ChatAnswer"] | undefined; ;) {
      waiting = undefined;
      for await (const event of events) {
        if (tools && event.type === "done" && event.answer.required_action) waiting = event.answer;
        else yield event;
      }
      if (!waiting) return;
      const results = await runTools(tools!, waiting.required_action!.tool_calls);
      const sent = { ...keyOf(waiting), body: { results, stream: true } };
      events = follow(() => send("sendToolResults", sent, later), later, { answer: keyOf(waiting) });
    }
  }
  return {
    ...methods,
    suggestReply: ({ conversation_id }, own) => methods.suggestReply({ conversation_id, body: {} }, own),
    streamSuggestedReply: ({ conversation_id }, own = {}) =>
      readSuggestion(() => send("suggestReply", { conversation_id, body: { stream: true } }, own)),
    askAgent: async (question, { tools, ...own } = {}) => {
      let answer = await methods.askAgent(withTools(question, tools), own);
      while (tools && answer.required_action) {
        const results = await runTools(tools, answer.required_action.tool_calls);
        answer = await methods.sendToolResults({ ...keyOf(answer), body: { results } }, withoutKey(own));
      }
      return answer;
    },
    streamAnswer: (question, own = {}) => streamAnswer(question, own),
    resumeAnswer: (answer, { lastEventId, ...own } = {}) => follow((id) => resume(answer, own, id), own, { answer, lastEventId }),
  };
}

/** Returns the options of the requests that follow a question. The caller's key is that of the question alone. */
function withoutKey({ idempotencyKey: _key, ...later }: CallOptions): SignalOptions {
  return later;
}

async function* readSuggestion(open: () => Promise<Response>): AsyncGenerator<SuggestionEvent, void> {
  for await (const event of readEvents<Schemas["SuggestedReply"]>(await open())) {
    if (event.type === "delta" || event.type === "done") yield event;
  }
}
