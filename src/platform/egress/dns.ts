import { readAtMost } from "../read-stream.ts";
import { Fault } from "../telemetry/errors.ts";

/** The numbers of the DNS record types. */
const A = 1;
const AAAA = 28;
/** The response codes of a valid answer. Every other code is a failure of the resolver. */
const NO_ERROR = 0;
const NAME_ERROR = 3;

/** This is room for hundreds of addresses. */
const MAX_ANSWER_BYTES = 65_536;

/** A DNS answer in JSON. If the name is an alias, the answer also holds the addresses of its target. */
interface DnsAnswer {
  Status: number;
  /** Whether the answer is truncated. */
  TC?: boolean;
  Answer?: { type: number; data: string }[];
}

/**
 * Looks up all addresses of a host name, IPv4 and IPv6. Nothing is cached here, since the resolver caches what may be cached.
 * @throws when the resolver gives no valid answer.
 */
export async function addressesOf(resolver: string, host: string, signal: AbortSignal): Promise<string[]> {
  const found = await Promise.all([A, AAAA].map((type) => resolve(resolver, host, type, signal)));
  return found.flat();
}

async function resolve(resolver: string, host: string, type: number, signal: AbortSignal): Promise<string[]> {
  const url = new URL(resolver);
  url.searchParams.set("name", host);
  url.searchParams.set("type", String(type));
  const response = await fetch(url, { headers: { Accept: "application/dns-json" }, redirect: "manual", cache: "no-store", signal });
  const { body } = await readAtMost(response.body, MAX_ANSWER_BYTES);
  if (response.status !== 200) throw new Fault(`The DNS resolver responded with status ${response.status}`);
  const answer: unknown = JSON.parse(new TextDecoder().decode(body));
  if (!isAnswer(answer)) throw new Fault("The DNS resolver gave no valid answer");
  return (answer.Answer ?? []).filter((record) => record.type === A || record.type === AAAA).map((record) => record.data);
}

/**
 * Whether a value is an answer of the resolver. Its fields are checked without a schema: an isolate that requests other hosts would load
 * the schema library only for this.
 */
function isAnswer(value: unknown): value is DnsAnswer {
  const { Status, TC = false, Answer = [] } = { ...(value as Partial<DnsAnswer> | null) };
  const isRecord = (record: unknown) => {
    const { type, data } = { ...(record as Partial<{ type: unknown; data: unknown }> | null) };
    return Number.isInteger(type) && typeof data === "string";
  };
  return (Status === NO_ERROR || Status === NAME_ERROR) && !TC && Array.isArray(Answer) && Answer.every(isRecord);
}
