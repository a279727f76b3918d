import type { ServedMcp } from "./stand-ins/mcp.ts";

/** The behaviour of another host. */
export interface Behaviour {
  /** Is a server of the Model Context Protocol, whatever else is given. */
  mcp?: ServedMcp;
  /** 200 unless given. */
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  /** The body as base64, for bytes that are no text. */
  bytes?: string;
  /** Sends the body so many times over. */
  times?: number;
  /** Waits so long after each time, so that the answer trickles. */
  everyMs?: number;
  /** Compresses all of it. */
  gzip?: boolean;
  /** Says nothing until the other side goes, or breaks the connection: at once or after the body. */
  fails?: "silent" | "reset" | "reset_in_body";
}

/** A request as a host of the Internet got it. */
export interface Received {
  method: string;
  /** Host, path and query. */
  place: string;
  headers: Record<string, string>;
  /** The body as base64. */
  body: string;
}

/** The host by which tests set the behaviour of an address (`PUT /behaviours?at=`) and read the requests of a host (`GET /received?at=`). */
export const CONTROL_HOST = "control.outbound.invalid";
