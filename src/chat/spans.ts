import { type SpanExporter, spanExporter } from "../platform/config.ts";
import { logRarely } from "../platform/telemetry/log.ts";

/*
 * A turn as spans, sent by OTLP over HTTP in JSON (https://opentelemetry.io/docs/specs/otlp/#otlphttp). Names and attributes are those
 * of the semantic conventions for generative AI (https://opentelemetry.io/docs/specs/semconv/gen-ai/). Spans hold no text that people or
 * models wrote.
 */

const SERVICE = "support-agent-service";
const TIMEOUT_MS = 5_000;
/** The kinds and the status of a span in the protocol. */
const [INTERNAL, CLIENT] = [1, 3];
const ERROR = 2;
const SPAN_ID_BYTES = 8;

type Attributes = Record<string, string | number | null | undefined>;

/** A step of a turn. Times are Unix milliseconds. */
export interface Step {
  name: string;
  startMs: number;
  endMs: number;
  attributes: Attributes;
  /** The name of the error, if the step failed. */
  failure: string | null;
}

/** A turn, whose trace has the id of the answer. */
export interface TracedTurn {
  agentId: string;
  conversationId: string;
  answerId: string;
  startMs: number;
  /** Why the conversation was handed to a human; null if the agent answered. */
  handoffReason: string | null;
  steps: readonly Step[];
}

/** Sends the spans of a turn, if the deployment has an address for them. It never throws. */
export async function exportSpans(env: Env, turn: TracedTurn): Promise<void> {
  const exporter = spanExporter(env);
  if (!exporter) return;
  try {
    await send(exporter, toTraces(turn, Date.now()));
  } catch (error) {
    logRarely("spans_not_exported", {}, error);
  }
}

async function send({ url, headers }: SpanExporter, traces: object): Promise<void> {
  const response = await fetch(url, {
    method: "POST",
    headers: { ...headers, "Content-Type": "application/json" },
    body: JSON.stringify(traces),
    redirect: "manual",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`The server of the spans answered ${response.status}`);
}

/** Converts a turn to the message ExportTraceServiceRequest of the protocol. */
function toTraces(turn: TracedTurn, endMs: number): object {
  const traceId = turn.answerId.replaceAll("-", "");
  const root = newSpanId();
  const attributes = {
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.agent.id": turn.agentId,
    "gen_ai.conversation.id": turn.conversationId,
    "support_agent.handoff_reason": turn.handoffReason,
  };
  const whole = { name: "invoke_agent", startMs: turn.startMs, endMs, attributes, failure: null };
  const spans = [
    { traceId, spanId: root, kind: INTERNAL, ...toSpan(whole) },
    ...turn.steps.map((step) => ({ traceId, spanId: newSpanId(), parentSpanId: root, kind: CLIENT, ...toSpan(step) })),
  ];
  return {
    resourceSpans: [
      { resource: { attributes: toAttributes({ "service.name": SERVICE }) }, scopeSpans: [{ scope: { name: SERVICE }, spans }] },
    ],
  };
}

function toSpan({ name, startMs, endMs, attributes, failure }: Step) {
  return {
    name,
    startTimeUnixNano: toNanoseconds(startMs),
    endTimeUnixNano: toNanoseconds(endMs),
    attributes: toAttributes({ ...attributes, "error.type": failure }),
    ...(failure !== null && { status: { code: ERROR } }),
  };
}

function toAttributes(attributes: Attributes): object[] {
  return Object.entries(attributes).flatMap(([key, value]) => {
    if (value === null || value === undefined) return [];
    return [{ key, value: typeof value === "number" ? { intValue: String(value) } : { stringValue: value } }];
  });
}

/** JSON has no integers of 64 bits: the protocol sends them as text. */
function toNanoseconds(ms: number): string {
  return `${ms}000000`;
}

function newSpanId(): string {
  return crypto.getRandomValues(new Uint8Array(SPAN_ID_BYTES)).toHex();
}
