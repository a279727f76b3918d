import { CONTROL_HOST, type Behaviour, type Received } from "./outbound-protocol.ts";

/** A request that another host has received, with its body as bytes. */
export type ReceivedRequest = Omit<Received, "body"> & { body: Uint8Array };

/** The resolver for DNS_OVER_HTTPS_URL, in tests in which the service looks names up. */
export const RESOLVER = "https://resolver.outbound.example.com/dns-query";

const RECORD_TYPES = { A: 1, CNAME: 5, AAAA: 28 } as const;
const LOOKED_UP = [RECORD_TYPES.A, RECORD_TYPES.AAAA];

/** The records of a name. If there are none, the name does not exist. */
export type Records = Partial<Record<keyof typeof RECORD_TYPES, string[]>>;

/** A host name that no other test has. */
export function newHost(): string {
  return `${crypto.randomUUID()}.example.com`;
}

/**
 * Sets the behaviour of an address: a host (`a.example.com`), one with path (`a.example.com/b`) or with query. Each
 * request takes the next behaviour, and the last one is repeated. Connections to other addresses break.
 */
export async function behaveAt(place: string, ...behaviours: [Behaviour, ...Behaviour[]]): Promise<void> {
  await control("PUT", "/behaviours", place, JSON.stringify(behaviours));
}

/** The requests that a host has received, in order. */
export async function receivedBy(host: string): Promise<ReceivedRequest[]> {
  const received: Received[] = await (await control("GET", "/received", host)).json();
  return received.map((request) => ({ ...request, body: Uint8Array.fromBase64(request.body) }));
}

/** Sets the records of a name. Each look-up gets the next ones, and the last ones are repeated. */
export async function resolveTo(host: string, ...records: [Records, ...Records[]]): Promise<void> {
  const answersTo = (asked: number) => records.map((each) => ({ body: JSON.stringify(dnsAnswer(host, asked, each)) }));
  for (const asked of LOOKED_UP) await control("PUT", "/behaviours", lookupOf(host, asked), JSON.stringify(answersTo(asked)));
}

/** Sets the behaviour of the resolver for a name, or for one record type of it. */
export async function resolverBehaves(host: string, behaviour: Behaviour, kinds: readonly ("A" | "AAAA")[] = ["A", "AAAA"]): Promise<void> {
  for (const kind of kinds) await behaveAt(lookupOf(host, RECORD_TYPES[kind]), behaviour);
}

function lookupOf(host: string, type: number): string {
  return `${RESOLVER.replace("https://", "")}?name=${host}&type=${type}`;
}

/** The answer of a resolver: the aliases first, then the records of the requested type. */
function dnsAnswer(host: string, asked: number, records: Records) {
  const recordsOf = (kind: keyof Records) => (records[kind] ?? []).map((data) => ({ name: host, type: RECORD_TYPES[kind], TTL: 60, data }));
  const addresses = asked === RECORD_TYPES.A ? recordsOf("A") : recordsOf("AAAA");
  const answer = [...recordsOf("CNAME"), ...addresses];
  const status = Object.keys(records).length === 0 ? 3 : 0;
  return { Status: status, TC: false, Question: [{ name: host, type: asked }], ...(answer.length > 0 && { Answer: answer }) };
}

function control(method: "GET" | "PUT", path: string, at: string, body?: string): Promise<Response> {
  const url = `http://${CONTROL_HOST}${path}?at=${encodeURIComponent(at)}`;
  return fetch(url, { method, ...(body !== undefined && { body }) });
}
