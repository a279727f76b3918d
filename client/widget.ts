/*
 * A client of the visitors' surface, for browsers and apps: it needs no key.
 *
 *   const visitor = createWidgetClient({ baseUrl: "https://support.example.com" });
 *   const { answer } = await visitor.sendVisitorMessage({ agent_id, body: { message: "How long do refunds take?" } });
 */
import { type AnswerKey, type Broken, followAnswer, type StreamEvent } from "./stream.ts";
import {
  methodsOf,
  type MethodsFor,
  newQuestionKey,
  senderOf,
  type SignalOptions,
  type Surface,
  type TransportOptions,
} from "./transport.ts";
import { type Operations, ROUTES, type Schemas } from "./widget-schema.ts";

export { ApiError } from "./transport.ts";
export type { Operations, Schemas } from "./widget-schema.ts";

export interface WidgetClientOptions extends TransportOptions {
  /** The visitor's token, as an earlier answer gave it. */
  visitorToken?: string | undefined;
  /** Called with the token of each answer: keep it in the visitor's browser. The client itself goes on with it. */
  onVisitorToken?: ((token: string) => void) | undefined;
}

type VisitorAnswer = Schemas["VisitorAnswer"];

/** What a stream's start has beside it: a visitor's connection may break before the answer is done. */
interface Token {
  visitor_token: string;
}

/** What a streamed answer says, in order: `start`, any number of `delta`, `done`. A second `start` means: begin anew. */
export type VisitorAnswerEvent = StreamEvent<VisitorAnswer, Token>;

/** What a visitor asks; whether to stream the answer is for the method to say. */
export interface VisitorQuestion {
  agent_id: string;
  body: Omit<Operations["sendVisitorMessage"]["input"]["body"], "stream">;
}

type Methods = MethodsFor<Operations, SignalOptions>;

/** A method for each operation, by its operationId. Each throws an ApiError where the service answers one. */
export interface WidgetClient extends Omit<Methods, "sendVisitorMessage" | "resumeVisitorAnswer"> {
  sendVisitorMessage(question: VisitorQuestion, options?: SignalOptions): Promise<VisitorAnswer>;
  /** Asks, and gives the answer as it is written. Where the connection breaks, it goes on from there. */
  streamVisitorMessage(question: VisitorQuestion, options?: SignalOptions): AsyncIterable<VisitorAnswerEvent>;
  /** Goes on with an answer's stream after the event with this id, or from its start. */
  resumeVisitorAnswer(answer: AnswerKey, options?: SignalOptions & { lastEventId?: string | undefined }): AsyncIterable<VisitorAnswerEvent>;
}

/** Only a question is done once by its key. Other POSTs that nobody answers are not repeated. */
const ASK = "sendVisitorMessage";

/** Makes a client of one visitor. */
export function createWidgetClient(options: WidgetClientOptions): WidgetClient {
  let token = options.visitorToken;
  const keep = (given: string | undefined) => {
    if (given === undefined || given === token) return;
    token = given;
    options.onVisitorToken?.(given);
  };
  const surface: Surface = { routes: ROUTES, token: () => token, idempotencyKey: (id) => (id === ASK ? newQuestionKey() : undefined) };
  const send = senderOf(surface, options);
  const methods = methodsOf(surface, send) as Methods;
  const withToken = <Body extends object>({ agent_id, body }: { agent_id: string; body: Body }) => ({
    agent_id,
    body: { visitor_token: token, ...body },
  });
  const follow = async function* (open: (id?: string) => Promise<Response>, own: SignalOptions, from: Broken = {}) {
    const resume = (answer: AnswerKey, id: string | undefined) => send("resumeVisitorAnswer", { ...answer }, own, id);
    for await (const event of followAnswer<VisitorAnswer, Token>({ open, resume, signal: own.signal, ...from }, options)) {
      if (event.type === "start") keep(event.visitor_token);
      if (event.type === "done") keep(event.answer.visitor_token);
      yield event;
    }
  };
  return {
    ...methods,
    sendVisitorLead: (lead, own) => methods.sendVisitorLead(withToken(lead), own),
    sendVisitorMessage: async (question, own) => {
      const answer = await methods.sendVisitorMessage(withToken(question), own);
      keep(answer.visitor_token);
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
