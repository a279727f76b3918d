import { z } from "zod";
import { Fault } from "../fault.ts";
import { readAtMost } from "./read-body.ts";

/** Record types, as the DNS numbers them. */
const A = 1;
const AAAA = 28;
/** Response codes that are an answer, "there is no such name" included; every other is a resolver's failure. */
const NO_ERROR = 0;
const NAME_ERROR = 3;

/** Hundreds of addresses fit; a name has a handful. */
const MAX_ANSWER_BYTES = 65_536;

/** The JSON form of a DNS answer. A chain of aliases comes with the addresses that it ends in. */
const answerSchema = z.object({
  Status: z.literal([NO_ERROR, NAME_ERROR]),
  TC: z.literal(false).optional(),
  Answer: z.array(z.object({ type: z.int(), data: z.string() })).optional(),
});

/**
 * All addresses that a host name leads to, IPv4 and IPv6; none when there is no such name. Asked anew each time: what
 * is kept could have changed, and the resolver keeps what may be kept.
 * @throws when the resolver does not answer, or not to the point.
 */
export async function addressesOf(resolver: string, host: string, signal: AbortSignal): Promise<string[]> {
  const found = await Promise.all([A, AAAA].map((type) => ask(resolver, host, type, signal)));
  return found.flat();
}

async function ask(resolver: string, host: string, type: number, signal: AbortSignal): Promise<string[]> {
  const url = new URL(resolver);
  url.searchParams.set("name", host);
  url.searchParams.set("type", String(type));
  const response = await fetch(url, { headers: { Accept: "application/dns-json" }, redirect: "manual", cache: "no-store", signal });
  const { body } = await readAtMost(response.body, MAX_ANSWER_BYTES);
  if (response.status !== 200) throw new Fault(`The resolver answered with status ${response.status}`);
  const { Answer = [] } = answerSchema.parse(JSON.parse(new TextDecoder().decode(body)));
  return Answer.filter((record) => record.type === A || record.type === AAAA).map((record) => record.data);
}
