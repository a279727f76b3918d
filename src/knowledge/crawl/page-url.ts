/** Parameters that tell where a visitor came from, or who it is, and never which page is meant. */
const TRACKING = new RegExp(
  "^(?:utm_\\w+|mtm_\\w+|pk_\\w+|matomo_\\w+|piwik_\\w+|hsa_\\w+|_hs\\w+|__hs\\w+|vero_\\w+|oly_\\w+|wt_?mc\\w*|at_\\w+|" +
    "gclid|gclsrc|gbraid|wbraid|dclid|fbclid|msclkid|twclid|ttclid|li_fat_id|igshid|igsh|yclid|mc_cid|mc_eid|mkt_tok|_ga|_gl|_ke|" +
    "s_cid|sc_cid|cmpid|trk|trkcampaign|hsctatracking|epik|ck_subscriber_id|" +
    "phpsessid|jsessionid|aspsessionid\\w*|sessionid|session_id|sid|cfid|cftoken|replytocom|share|nb)$",
  "i",
);
const SESSION_IN_PATH = /;(?:jsessionid|phpsessid|sid)=[^/;]*/gi;
const INDEX_FILE = /\/(?:index|default)\.(?:html?|php|aspx?|jsp|md)$/i;
const MAX_URL_CHARS = 2_000;

/**
 * The form in which a page is asked for: without fragment, credentials and tracking parameters, its escapes as they should be. The
 * path is as the site wrote it, since a server may know one form alone. Null for what is no http(s) URL or too long.
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
 * What two addresses of one page have in common, for telling pages apart: neither scheme nor `www.`, neither trailing slash nor
 * index file, parameters in order. Of addresses with one key the first is asked for; where the server redirects or the page names
 * a canonical address, that is the page's own. Takes a normalised URL.
 */
export function pageKey(normalised: string): string {
  const url = new URL(normalised);
  const path = withoutEndSlashes(url.pathname.replace(INDEX_FILE, "/"));
  const parameters = parametersOf(url).sort((one, other) => compare(nameOf(one), nameOf(other)));
  return `${siteHost(url)}${path}${parameters.length > 0 ? "?" : ""}${parameters.join("&")}`;
}

/** A path without the slashes at its end. */
export function withoutEndSlashes(path: string): string {
  return path.replace(/(?<!\/)\/+$/, "");
}

/** The site that is read: the host where the start URL led, with or without `www.`. */
export interface Site {
  /** Scheme and host that every page is asked for with. */
  origin: string;
}

/** The site of the start URL, after its redirects. */
export function siteOf(finalUrl: string): Site {
  return { origin: new URL(finalUrl).origin };
}

/** Whether a URL is of the site: the same host and port, `www.` or not, http or https on their usual ports. */
export function isOfSite(url: string, { origin }: Site): boolean {
  return siteHost(new URL(url)) === siteHost(new URL(origin));
}

/** A URL of the site with the site's own scheme and host, so that one host is asked, and in one way. Takes a normalised URL. */
export function onSite(normalised: string, { origin }: Site): string {
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

function nameOf(parameter: string): string {
  return parameter.split("=", 1)[0]!;
}

/** Escapes of characters that need none are undone, the others have capital letters (RFC 3986, 6.2.2). */
function normalisedEscapes(text: string): string {
  return text.replace(/%[0-9a-f]{2}/gi, (escape) => {
    const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
    return /[A-Za-z0-9\-._~]/.test(character) ? character : escape.toUpperCase();
  });
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
