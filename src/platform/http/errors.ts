import type { ContentfulStatusCode } from "hono/utils/http-status";

/** The error codes of the integrators' API with their HTTP status. */
export const STATUS_OF = {
  missing_api_key: 401,
  invalid_api_key: 401,
  revoked_api_key: 401,
  quota_exceeded: 402,
  insufficient_scope: 403,
  plan_required: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  endpoint_disabled: 409,
  idempotency_conflict: 409,
  payload_too_large: 413,
  validation_error: 422,
  rate_limited: 429,
  internal_error: 500,
  unavailable: 503,
} as const satisfies Record<string, ContentfulStatusCode>;

/** The further codes of the visitors' API and the console, which the other OpenAPI documents leave out. */
export const VISITOR_STATUS_OF = {
  missing_visitor_token: 401,
  invalid_visitor_token: 401,
  invalid_identity: 401,
  origin_not_allowed: 403,
  challenge_required: 403,
} as const satisfies Record<string, ContentfulStatusCode>;

const ALL_STATUS_OF = { ...STATUS_OF, ...VISITOR_STATUS_OF };

export type ErrorCode = keyof typeof ALL_STATUS_OF;

/** One failed check, in the form of Pydantic v2. */
export interface ValidationItem {
  loc: (string | number)[];
  msg: string;
  type: string;
  input?: unknown;
  ctx?: Record<string, unknown>;
}

interface ApiErrorOptions {
  headers?: Record<string, string>;
  detail?: ValidationItem[];
  /** Further fields of the error in the body. */
  fields?: object;
}

/** An error for the caller: its message says what to do. */
export class ApiError<Code extends ErrorCode = ErrorCode> extends Error {
  readonly headers: Record<string, string>;
  readonly detail: ValidationItem[] | undefined;
  readonly fields: object | undefined;

  constructor(
    readonly code: Code,
    message: string,
    options: ApiErrorOptions = {},
  ) {
    super(message);
    this.headers = options.headers ?? {};
    this.detail = options.detail;
    this.fields = options.fields;
  }

  get status(): (typeof ALL_STATUS_OF)[Code] {
    return ALL_STATUS_OF[this.code];
  }

  /** The body of the response. @param further fields of the error on this surface. */
  toBody(requestId: string, further = {}) {
    const error = { code: this.code, message: this.message, request_id: requestId, ...further, ...this.fields };
    return this.detail ? { detail: this.detail, error } : { error };
  }
}

/** Returns a 404 error. A record of another workspace gets it too. */
export function notFound(what: string): ApiError<"not_found"> {
  return new ApiError("not_found", `No ${what} with this id. Check the id and that it belongs to this workspace.`);
}

/** Returns a 422 error that lists all failed checks. */
export function invalid(detail: ValidationItem[]): ApiError<"validation_error"> {
  return new ApiError("validation_error", "The request is not valid. Each item of detail says what to change.", { detail });
}

/** Returns a 503 error with Retry-After. */
export function unavailable(message: string, retryAfterSeconds: number): ApiError<"unavailable"> {
  return new ApiError("unavailable", message, retryAfter(retryAfterSeconds));
}

/** Returns the options of an error after which a client may try again. */
export function retryAfter(seconds: number): { headers: { "Retry-After": string } } {
  return { headers: { "Retry-After": String(seconds) } };
}
