/*
 * A client of the visitors' API, for browsers and apps: it needs no key.
 *
 *   const visitor = createWidgetClient({ baseUrl: "https://support.example.com" });
 *   const { answer } = await visitor.sendVisitorMessage({ agent_id, body: { message: "How long do refunds take?" } });
 */
import { toForm } from "./form.ts";
import { type AnswerKey, followAnswer, type ResumePoint, type StreamEvent } from "./stream.ts";
import {
  createMethods,
  createSender,
  type MethodsFor,
  newQuestionKey,
  type SignalOptions,
  type Surface,
  type TransportOptions,
} from "./transport.ts";
import { type Operations, ROUTES, type Schemas } from "./widget-schema.ts";

export { ApiError } from "./transport.ts";
export type { Operations, Schemas } from "./widget-schema.ts";

export interface WidgetClientOptions extends TransportOptions {
  /** The visitor's token from an earlier answer. */
  visitorToken?: string | undefined;
  /** Called with each new token of the visitor: store it in their browser. The client uses it for its next requests. */
  onVisitorToken?: ((token: string) => void) | undefined;
}

type VisitorAnswer = Schemas["VisitorAnswer"];

/** The token in the first event of a stream, with which the visitor resumes the stream if the connection breaks. */
interface Token {
  visitor_token: string;
}

/** The events of a streamed answer, in order: `start`, any number of `delta`, `done`. A second `start` discards what came before it. */
export type VisitorAnswerEvent = StreamEvent<VisitorAnswer, Token>;

/** A visitor's question. The method that is called decides whether the answer is streamed. */
export interface VisitorQuestion {
  agent_id: string;
  body: Omit<Operations["sendVisitorMessage"]["input"]["body"], "stream">;
}

type Methods = MethodsFor<Operations, SignalOptions>;

/** A method for each operation, named by its operationId. Each throws an ApiError if the service answers with an error. */
export interface WidgetClient extends Omit<Methods, "sendVisitorMessage" | "sendVisitorToolResults" | "resumeVisitorAnswer"> {
  sendVisitorMessage(question: VisitorQuestion, options?: SignalOptions): Promise<VisitorAnswer>;
  /** Sends the results of functions of the page. */
  sendVisitorToolResults(
    results: AnswerKey & { body: Omit<Operations["sendVisitorToolResults"]["input"]["body"], "stream"> },
    options?: SignalOptions,
  ): Promise<VisitorAnswer>;
  /** Asks a question and yields the answer as it is written. A broken connection is resumed where it stopped. */
  streamVisitorMessage(question: VisitorQuestion, options?: SignalOptions): AsyncIterable<VisitorAnswerEvent>;
  /** Resumes the stream of an answer after the event `lastEventId`, or from its start. */
  resumeVisitorAnswer(answer: AnswerKey, options?: SignalOptions & { lastEventId?: string | undefined }): AsyncIterable<VisitorAnswerEvent>;
}

/** The only operation with an idempotency key. Other POSTs that got no answer are not repeated. */
const ASK = "sendVisitorMessage";

/** Creates a client for one visitor. */
export function createWidgetClient(options: WidgetClientOptions): WidgetClient {
  let token = options.visitorToken;
  const storeToken = (given: string | undefined) => {
    if (given === undefined || given === token) return;
    token = given;
    options.onVisitorToken?.(given);
  };
  const surface: Surface = {
    routes: ROUTES,
    toForm,
    token: () => token,
    idempotencyKey: (id) => (id === ASK ? newQuestionKey() : undefined),
  };
  const send = createSender(surface, options);
  const methods = createMethods(surface, send) as Methods;
  const withToken = <Body extends object>({ agent_id, body }: { agent_id: string; body: Body }) => ({
    agent_id,
    body: { visitor_token: token, ...body },
  });
  const follow = async function* (open: (id?: string) => Promise<Response>, own: SignalOptions, from: ResumePoint = {}) {
    const resume = (answer: AnswerKey, id: string | undefined) => send("resumeVisitorAnswer", { ...answer }, own, id);
    for await (const event of followAnswer<VisitorAnswer, Token>({ open, resume, signal: own.signal, ...from }, options)) {
      if (event.type === "start") storeToken(event.visitor_token);
      if (event.type === "done") storeToken(event.answer.visitor_token);
      yield event;
    }
  };
  return {
    ...methods,
    uploadVisitorAttachment: (file, own) => methods.uploadVisitorAttachment(withToken(file), own),
    sendVisitorLead: (lead, own) => methods.sendVisitorLead(withToken(lead), own),
    sendVisitorMessage: async (question, own) => {
      const answer = await methods.sendVisitorMessage(withToken(question), own);
      storeToken(answer.visitor_token);
      return answer;
    },
    sendVisitorToolResults: async (results, own) => {
      const answer = await methods.sendVisitorToolResults(results, own);
      storeToken(answer.visitor_token);
      return answer;
    },
    streamVisitorMessage: (question, own = {}) => {
      const { agent_id, body } = withToken(question);
      return follow(() => send(ASK, { agent_id, body: { ...body, stream: true } }, own), own);
    },
    resumeVisitorAnswer: (answer, { lastEventId, ...own } = {}) =>
      follow((id) => send("resumeVisitorAnswer", { ...answer }, own, id), own, { answer, lastEventId }),
  };
}
