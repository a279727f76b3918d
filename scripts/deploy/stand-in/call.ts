/** A call that the stand-in was sent. */
export interface Call {
  method: string;
  /** Below the account, such as `queues`. */
  path: string;
  query: URLSearchParams;
  body: string;
  /** Where it was sent. */
  origin: string;
}

/** Answers a call with the API's `result`; the name is the first group of the route's pattern. */
type Handler = (call: Call, name: string) => unknown;

/** Patterns of `METHOD path`, with what answers them. */
export type Routes = readonly (readonly [RegExp, Handler])[];

/** An error of the API, with the code that wrangler knows it by. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: number;

  constructor(status: number, code: number, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Small, so that a list of queues is one of several pages. */
export const PAGE_SIZE = 5;
