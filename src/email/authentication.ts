import type { Email } from "postal-mime";
import { domainOf, isSameOwner } from "./domains.ts";

/*
 * Whether a mail comes from the domain of its From address. Email Routing checks SPF, DKIM and DMARC when it receives a mail,
 * and writes the results above all headers of the sender (RFC 8601, and RFC 8617 for ARC):
 *
 *   Authentication-Results: mx.cloudflare.net; dkim=pass header.d=example.net; dmarc=pass header.from=example.net;
 *     spf=pass (…) smtp.mailfrom=ada@example.net
 */

/** The name of Email Routing in its results. */
const TRUSTED_SERVICE = "mx.cloudflare.net";
const RESULT_HEADERS = new Set(["authentication-results", "arc-authentication-results"]);

/**
 * `pass`: the domain confirms the mail. `fail`: it does not. `unavailable`: its DNS could not be queried. `none`: Email Routing
 * wrote no result.
 */
export type Authentication = "pass" | "fail" | "unavailable" | "none";

/** One result: `dkim=pass header.d=example.net` is the method dkim with the result pass and a property. */
interface Result {
  method: string;
  result: string;
  properties: Record<string, string>;
}

/**
 * Reads the results from the topmost header of Email Routing. The sender may have forged headers further down. Forging one gains
 * nothing when Email Routing wrote none, since a mail with `none` is accepted too.
 */
export function authenticationOf({ headers }: Pick<Email, "headers">, fromAddress: string): Authentication {
  const lists = headers.filter(({ key }) => RESULT_HEADERS.has(key)).map(({ value }) => resultsOf(value));
  const results = lists.find((list) => list !== undefined) ?? [];
  const domain = domainOf(fromAddress);
  const ofMethod = (name: string) => results.filter(({ method }) => method === name);
  const [dmarc] = ofMethod("dmarc");
  if (dmarc?.result === "pass") return isSameOwner(dmarc.properties["header.from"] ?? domain, domain) ? "pass" : "fail";
  if (dmarc?.result === "fail") return "fail";
  // The domain has no readable DMARC record, so SPF or DKIM must confirm the same domain.
  const others = [
    ...ofMethod("spf").map((spf) => ({ ...spf, domain: spf.properties["smtp.mailfrom"] })),
    ...ofMethod("dkim").map((dkim) => ({ ...dkim, domain: dkim.properties["header.d"] })),
  ];
  if (others.some((one) => one.result === "pass" && one.domain !== undefined && isSameOwner(one.domain, domain))) return "pass";
  if ([...others, ...ofMethod("dmarc")].some(({ result }) => result === "temperror")) return "unavailable";
  return dmarc || others.length > 0 ? "fail" : "none";
}

/** The results in a header; undefined if Email Routing did not write it. */
function resultsOf(header: string): Result[] | undefined {
  const parts = partsOf(header);
  // In ARC headers the instance number comes first: `i=2; mx.cloudflare.net; …`.
  const [service, ...results] = parts[0]?.[0]?.startsWith("i=") ? parts.slice(1) : parts;
  if (service?.[0]?.toLowerCase() !== TRUSTED_SERVICE) return undefined;
  return results.flatMap(([outcome = "", ...words]) => {
    const [method, result] = pairOf(outcome.toLowerCase());
    return method === "" ? [] : [{ method: method.split("/")[0]!, result, properties: Object.fromEntries(words.map(pairOf)) }];
  });
}

function pairOf(word: string): [string, string] {
  const at = word.indexOf("=");
  return at < 0 ? ["", ""] : [word.slice(0, at), word.slice(at + 1)];
}

/** Splits a header at semicolons and white space. Comments and quotation marks are removed; a semicolon in quotes does not split. */
function partsOf(header: string): string[][] {
  const parts: string[][] = [[]];
  let [word, depth, isQuoted] = ["", 0, false];
  const endWord = () => {
    if (word !== "") parts.at(-1)!.push(word);
    word = "";
  };
  for (let at = 0; at < header.length; at++) {
    const character = header[at]!;
    if (character === "\\" && (depth > 0 || isQuoted)) at++;
    else if (character === '"' && depth === 0) isQuoted = !isQuoted;
    else if (character === "(" && !isQuoted) depth++;
    else if (character === ")" && depth > 0) depth--;
    else if (depth > 0) continue;
    else if (isQuoted || !/[\s;]/.test(character)) word += character;
    else {
      endWord();
      if (character === ";") parts.push([]);
    }
  }
  endWord();
  return parts;
}
