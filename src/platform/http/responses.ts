import { z } from "@hono/zod-openapi";
import type { AppContext } from "./context.ts";
import { type ErrorCode, STATUS_OF } from "./errors.ts";

const errorSchema = z
  .object({
    error: z
      .object({
        code: z.enum(Object.keys(STATUS_OF) as [keyof typeof STATUS_OF]).meta({ description: "The code of the error, for programs." }),
        message: z.string().meta({ description: "What to do about it.", example: "Check the id and that it belongs to this workspace." }),
        conversation_id: z.string().optional().meta({
          description:
            "Present if a question got a 500 or 503 but is stored: it will be answered in this conversation. Without it, the question is not stored.",
        }),
        message_id: z.string().optional().meta({ description: "The id of the answer that will be written. Resume its stream to read it." }),
        type: z.string().optional().meta({ description: "Only under /openai: the type of the error, as OpenAI names it." }),
        param: z
          .string()
          .nullable()
          .optional()
          .meta({ description: "Only under /openai: the field that is wrong; null if no single field is wrong." }),
        request_id: z.string().meta({ description: "Equal to the header X-Request-Id.", example: "019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00" }),
      })
      .meta({ description: "The error." }),
  })
  .openapi("Error");

const validationErrorSchema = errorSchema
  .extend({
    detail: z
      .array(
        z
          .object({
            loc: z.array(z.union([z.string(), z.int()])).meta({
              description: "The place of the problem: body, query or path, followed by the names of the fields.",
              example: ["body", "message"],
            }),
            msg: z.string().meta({ description: "The problem." }),
            type: z.string().meta({ description: "The kind of error, as Pydantic v2 names it." }),
            input: z.unknown().optional().meta({ description: "The value that was sent." }),
            ctx: z.record(z.string(), z.unknown()).optional().meta({ description: "The bounds or choices of the check." }),
          })
          .openapi("ValidationItem"),
      )
      .meta({ description: "Every failed check." }),
  })
  .openapi("ValidationError");

const integerHeader = (description: string) => ({ description, schema: { type: "integer" as const } });

/** The documented response headers, as components of the OpenAPI document. */
export const HEADER_COMPONENTS = {
  RequestId: { description: "Names this request in logs and errors.", schema: { type: "string" as const } },
  RateLimitLimit: integerHeader(
    "Requests that all keys of the workspace together, or a member in the console, may make in any 60 seconds.",
  ),
  RateLimitRemaining: integerHeader("How many of these requests are left now."),
  RateLimitReset: integerHeader("Unix time in seconds at which all of these requests are available again, if nothing more is sent."),
  RetryAfter: integerHeader("Whole seconds to wait before trying again."),
};

const header = (name: keyof typeof HEADER_COMPONENTS) => ({ $ref: `#/components/headers/${name}` });

/** The headers of every response under /api/v1. */
const HEADERS = {
  "X-Request-Id": header("RequestId"),
  "X-RateLimit-Limit": header("RateLimitLimit"),
  "X-RateLimit-Remaining": header("RateLimitRemaining"),
  "X-RateLimit-Reset": header("RateLimitReset"),
};

const DESCRIPTIONS = {
  401: "No valid API key.",
  402: "The month's message quota is used up.",
  403: "The key lacks the scope, or the plan does not include it.",
  404: "No such record in this workspace.",
  409: "The record is in a state that does not allow this.",
  413: "The body is too large.",
  422: "The request is not valid.",
  429: "The rate limit is exceeded.",
  500: "Something failed on our side.",
  503: "Temporarily unavailable: try again later.",
} as const;

/** The error statuses of every operation. */
const ALWAYS = [401, 429, 500, 503] as const;

export type ErrorStatus = keyof typeof DESCRIPTIONS;

const REQUEST_ID = "019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00";

/** An example of the error of each status, for the OpenAPI document. */
const EXAMPLES: Record<ErrorStatus, { code: ErrorCode; message: string }> = {
  401: {
    code: "invalid_api_key",
    message: "This is not a key of this service. Check that you copied it whole, or ask your operator for a new one.",
  },
  402: {
    code: "quota_exceeded",
    message: "The workspace's messages of this month are used up. Ask for a larger plan, or wait for the next month.",
  },
  403: { code: "insufficient_scope", message: "This needs the scope chat:write. Use a key that has it." },
  404: { code: "not_found", message: "No agent with this id. Check the id and that it belongs to this workspace." },
  409: { code: "conflict", message: "Another agent of the workspace has this slug. Choose another one." },
  413: { code: "payload_too_large", message: "The body is too large: send at most 524,288 bytes." },
  422: { code: "validation_error", message: "The request is not valid. Each item of detail says what to change." },
  429: { code: "rate_limited", message: "The rate limit, which all keys of the workspace share, is exceeded. Try again in 12 s." },
  500: { code: "internal_error", message: "Something failed on our side. Try again, and send us the request_id if it keeps failing." },
  503: { code: "unavailable", message: "The service is busy. Try again in a moment." },
};

const INVALID_ITEM = { loc: ["body", "name"], msg: "Field required", type: "missing", input: {} };

/** Returns the body of an error response, as an example. */
export function errorExample(status: ErrorStatus, error = EXAMPLES[status]) {
  const body = { error: { ...error, request_id: REQUEST_ID } };
  return status === 422 ? { detail: [INVALID_ITEM], ...body } : body;
}

/** Documents a JSON response, for a route's `responses`. */
export function jsonResponse<Schema extends z.ZodType>(schema: Schema, description: string) {
  return { description, headers: HEADERS, content: { "application/json": { schema } } };
}

/** Documents a response that is JSON or a stream of events, by the request's Accept header. */
export function streamableResponse<Schema extends z.ZodType>(schema: Schema, description: string, events: z.ZodString) {
  const response = jsonResponse(schema, description);
  return { ...response, content: { ...response.content, "text/event-stream": { schema: events } } };
}

/** Documents a response that is a stream of events. */
export function eventStreamResponse(description: string, events: z.ZodString) {
  return { description, headers: HEADERS, content: { "text/event-stream": { schema: events } } };
}

/** Documents a response without a body. */
export function emptyResponse(description: string) {
  return { description, headers: HEADERS };
}

/** Documents the error responses of a route: those of every operation, and `statuses`. */
export function errorResponses(...statuses: ErrorStatus[]) {
  const all = [...ALWAYS, ...statuses].sort((a, b) => a - b);
  return Object.fromEntries(all.map((status) => [status, ERROR_RESPONSES[status]]));
}

/** Each response is built once, since all operations have most of them. */
const ERROR_RESPONSES = Object.fromEntries(
  (Object.keys(DESCRIPTIONS) as `${ErrorStatus}`[]).map((status) => [status, errorResponse(Number(status) as ErrorStatus)]),
) as Record<ErrorStatus, ReturnType<typeof errorResponse>>;

function errorResponse(status: ErrorStatus) {
  const schema = status === 422 ? validationErrorSchema : errorSchema;
  const headers = status === 429 || status === 503 ? { ...HEADERS, "Retry-After": header("RetryAfter") } : HEADERS;
  return { description: DESCRIPTIONS[status], headers, content: { "application/json": { schema, example: errorExample(status) } } };
}

/** Keeps proxies from buffering or transforming the events. */
const EVENT_STREAM_HEADERS = {
  "Content-Type": "text/event-stream; charset=utf-8",
  "Cache-Control": "no-cache, no-transform",
  "X-Accel-Buffering": "no",
};

/** Responds with a stream of Server-Sent Events. */
export function eventStream(c: AppContext, body: ReadableStream<Uint8Array> | string): Response {
  return c.body(body, 200, EVENT_STREAM_HEADERS);
}

/** Returns a response body of the pieces of a text, which are made as fast as the client reads. No piece may be empty. */
export function textStream(pieces: AsyncGenerator<string, void>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    type: "bytes",
    async pull(controller) {
      const { value, done } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    async cancel() {
      await pieces.return();
    },
  });
}
