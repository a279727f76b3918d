import type { ServedMcp } from "./stand-ins/mcp.ts";

/** The behaviour of another host. */
export interface Behaviour {
  /** Answers as a server of the Model Context Protocol, whatever else is given. */
  mcp?: ServedMcp;
  /** 200 by default. */
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  /** The body in base64, for bytes that are not text. */
  bytes?: string;
  /** The number of times that the body is sent. */
  times?: number;
  /** The pause after each time. */
  everyMs?: number;
  /** Answers only once its host gets another behaviour. */
  waits?: boolean;
  /** Whether the body is compressed. */
  gzip?: boolean;
  /** Keeps silent until the client closes the connection, or breaks it: at once, or after the body. */
  fails?: "silent" | "reset" | "reset_in_body";
}

/** A request that another host has received. */
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
