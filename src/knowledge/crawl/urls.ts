import { MAX_URL_CHARS } from "../extract/links.ts";

/** Parameters for tracking and sessions, which do not identify a page. */
const TRACKING = new RegExp(
  "^(?:utm_\\w+|mtm_\\w+|pk_\\w+|matomo_\\w+|piwik_\\w+|hsa_\\w+|_hs\\w+|__hs\\w+|vero_\\w+|oly_\\w+|wt_?mc\\w*|at_\\w+|" +
    "gclid|gclsrc|gbraid|wbraid|dclid|fbclid|msclkid|twclid|ttclid|li_fat_id|igshid|igsh|yclid|mc_cid|mc_eid|mkt_tok|_ga|_gl|_ke|" +
    "s_cid|sc_cid|cmpid|trk|trkcampaign|hsctatracking|epik|ck_subscriber_id|" +
    "phpsessid|jsessionid|aspsessionid\\w*|sessionid|session_id|sid|cfid|cftoken|replytocom|share|nb)$",
  "i",
);
const SESSION_IN_PATH = /;(?:jsessionid|phpsessid|sid)=[^/;]*/gi;
const INDEX_FILE = /\/(?:index|default)\.(?:html?|php|aspx?|jsp|md)$/i;

/**
 * Normalises a URL to the form in which it is fetched: without fragment, credentials and tracking parameters, with normalised
 * escapes. The path is not changed otherwise, since a server may accept only that. Null for other schemes and URLs that are too long.
 */
export function normalisedUrl(written: string): string | null {
  if (!URL.canParse(written)) return null;
  const url = new URL(written);
  if (url.protocol !== "https:" && url.protocol !== "http:") return null;
  url.hash = "";
  url.username = "";
  url.password = "";
  url.hostname = url.hostname.replace(/\.$/, "");
  url.pathname = normalisedEscapes(url.pathname.replace(SESSION_IN_PATH, ""));
  url.search = normalisedEscapes(parametersOf(url).join("&"));
  return url.href.length > MAX_URL_CHARS ? null : url.href;
}

/**
 * Returns the key of a page, which is equal for variants of its URL: without scheme, `www.`, trailing slash and index file, and
 * with sorted parameters. Of several URLs with one key the first is fetched. Takes a normalised URL.
 */
export function pageKey(normalised: string): string {
  const url = new URL(normalised);
  const path = url.pathname.replace(INDEX_FILE, "/").replace(/(?<!\/)\/+$/, "");
  const parameters = parametersOf(url).sort((one, other) => compare(nameOf(one), nameOf(other)));
  return `${siteHost(url)}${path}${parameters.length > 0 ? "?" : ""}${parameters.join("&")}`;
}

/** Whether a URL is on the site of an origin: the same host and port, apart from `www.` and from http or https on their default ports. */
export function isOfSite(url: string, origin: string): boolean {
  return siteHost(new URL(url)) === siteHost(new URL(origin));
}

/** Replaces the scheme and host of a normalised URL by those of an origin. */
export function onSite(normalised: string, origin: string): string {
  const { pathname, search } = new URL(normalised);
  return `${origin}${pathname}${search}`;
}

function siteHost({ host, protocol, port }: URL): string {
  const isUsual = port === "" || (protocol === "http:" && port === "443") || (protocol === "https:" && port === "80");
  const bare = host.replace(/^www\./, "").replace(/\.$/, "");
  return isUsual ? bare.replace(/:\d+$/, "") : bare;
}

function parametersOf(url: URL): string[] {
  return url.search
    .slice(1)
    .split("&")
    .filter((parameter) => parameter !== "" && !TRACKING.test(nameOf(parameter)));
}

/** The name of a parameter of a URL. */
export function nameOf(parameter: string): string {
  return parameter.split("=", 1)[0]!;
}

/** Decodes the escapes of characters that need none, and writes the others in capital letters (RFC 3986, 6.2.2). */
export function normalisedEscapes(text: string): string {
  return text.replace(/%[0-9a-f]{2}/gi, (escape) => {
    const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
    return /[A-Za-z0-9\-._~]/.test(character) ? character : escape.toUpperCase();
  });
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

/** Files without a page of text. PDFs, plain text and Markdown are read. */
const NO_PAGE_FILE = new RegExp(
  "\\.(?:" +
    "png|jpe?g|gif|svg|webp|avif|bmp|ico|tiff?|heic|psd|ai|eps|" +
    "mp[34]|m4[av]|ogg|oga|ogv|webm|wav|flac|aac|avi|mov|wmv|mkv|flv|" +
    "zip|gz|tgz|bz2|xz|7z|rar|tar|zst|jar|war|whl|deb|rpm|apk|ipa|dmg|pkg|msi|exe|bin|iso|img|cab|" +
    "css|js|mjs|cjs|map|json|jsonld|xml|rss|atom|wasm|woff2?|ttf|otf|eot|" +
    "docx?|xlsx?|pptx?|odt|ods|odp|key|numbers|pages|rtf|epub|mobi|csv|tsv|parquet|sqlite|db|sql|ics|vcf|torrent|sig|asc|sha256|md5" +
    ")$",
  "i",
);
/** Paths of administration, programs, feeds and forms. */
const NO_PAGE_PATH =
  /^\/(?:wp-admin|wp-json|wp-includes|wp-login\.php|xmlrpc\.php|cdn-cgi|_next|_nuxt|\.well-known|cgi-bin)(?:\/|$)|\/(?:log-?in|log-?out|sign-?in|sign-?up|sign-?out|register|cart|basket|checkout|my-account|feed|rss|amp|trackback|print)\/?$/i;
const NO_PAGE_PARAMETERS =
  /^(?:add-to-cart|add_to_wishlist|action|oldid|diff|printable|redirect_to|return_?to|feed|format|export|download|amp)$/i;

const MAX_SEGMENTS = 16;
const MAX_PATH_CHARS = 800;
const MAX_PARAMETERS = 6;
/** A wrong relative link leads to repeating paths such as a/b/a/b/a/b. */
const MAX_SAME_SEGMENT = 3;

/** The reason why a URL is not fetched; null if it is. Takes a normalised URL. */
export function reasonToSkip(normalised: string): "not_a_page" | "looks_endless" | null {
  const url = new URL(normalised);
  const names = [...url.searchParams.keys()];
  if (NO_PAGE_FILE.test(url.pathname) || NO_PAGE_PATH.test(url.pathname) || names.some((name) => NO_PAGE_PARAMETERS.test(name)))
    return "not_a_page";
  const segments = url.pathname.split("/").filter((segment) => segment !== "");
  const isTooLong = segments.length > MAX_SEGMENTS || url.pathname.length > MAX_PATH_CHARS || names.length > MAX_PARAMETERS;
  return isTooLong || repeats(segments) ? "looks_endless" : null;
}

function repeats(segments: string[]): boolean {
  const counts = new Map<string, number>();
  for (const segment of segments) {
    const count = (counts.get(segment) ?? 0) + 1;
    // A number may legitimately occur several times in a path.
    if (count > MAX_SAME_SEGMENT && !/^\d+$/.test(segment)) return true;
    counts.set(segment, count);
  }
  return /(?:^|\/)([^/]+(?:\/[^/]+){0,3})\/\1\/\1(?:\/|$)/.test(segments.join("/"));
}
