import { Agent, request as send } from "node:http";
import type { Prepared } from "../load.ts";

/** What a reader saw of one stream, since it asked for it. */
export interface Read {
  /** Until any of the response's body. */
  firstByteMs: number;
  /** Until the answer's first word. */
  firstWordMs: number;
  totalMs: number;
}

/** What the first word and the end of a whole stream look like. */
export interface Marks {
  word: string;
  end: string;
}

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, noDelay: true });

/** Asks for a stream and reads it to its end. */
export function read(port: number, { method, path, headers, body }: Prepared, marks: Marks): Promise<Read> {
  const { promise, resolve, reject } = Promise.withResolvers<Read>();
  const startMs = performance.now();
  const seen: Partial<Read> = {};
  const text = JSON.stringify(body);
  const all = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text), ...headers };
  const asked = send({ host: "127.0.0.1", port, method, path, headers: all, agent }, (response) => {
    let received = "";
    response.setEncoding("latin1").on("data", (data: string) => {
      const sinceMs = performance.now() - startMs;
      seen.firstByteMs ??= sinceMs;
      received += data;
      if (seen.firstWordMs === undefined && received.includes(marks.word)) seen.firstWordMs = sinceMs;
    });
    response.on("end", () => {
      const isWhole = response.statusCode === 200 && seen.firstWordMs !== undefined && received.includes(marks.end);
      if (isWhole) resolve({ ...seen, totalMs: performance.now() - startMs } as Read);
      else reject(new Error(`A stream is not whole: ${response.statusCode} ${received.slice(-300)}`));
    });
    response.on("error", reject);
  });
  asked.on("error", reject);
  asked.end(text);
  return promise;
}
