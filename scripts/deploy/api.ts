import { UserError } from "../shared/cli.ts";
import { networkErrorText } from "../shared/service.ts";
import type { Wrangler } from "./wrangler.ts";

const API = "https://api.cloudflare.com/client/v4";
const REQUEST_MS = 30_000;
/** The most that each of the lists takes. */
const PAGE_SIZE = 50;
const MAX_PAGES = 200;

/** What the API answered; `result` is undefined where it refused. */
export interface Reply<T> {
  status: number;
  result: T | undefined;
}

/** The login of wrangler, in a form of `wrangler auth token`. */
type Login = { type: "api_token" | "oauth"; token: string } | { type: "api_key"; key: string; email: string };

/** An account's Cloudflare API, with wrangler's login. Nothing is changed through it: that is left to wrangler. */
export class CloudflareApi {
  readonly accountId: string;
  readonly #url: string;
  readonly #headers: Record<string, string>;

  constructor(accountId: string, login: Login, url: string = API) {
    this.accountId = accountId;
    this.#url = url;
    this.#headers =
      login.type === "api_key" ? { "X-Auth-Key": login.key, "X-Auth-Email": login.email } : { Authorization: `Bearer ${login.token}` };
  }

  /** Opens an account's API with the login that wrangler uses. */
  static async open(wrangler: Wrangler, accountId: string): Promise<CloudflareApi> {
    const login = JSON.parse((await wrangler.run("auth", "token", "--json")).stdout) as Login;
    return new CloudflareApi(accountId, login, wrangler.env["CLOUDFLARE_API_BASE_URL"]);
  }

  /** Reads below the account. */
  read<T>(path: string): Promise<Reply<T>> {
    return this.#send(`/accounts/${this.accountId}/${path}`);
  }

  /** Reads below a zone. */
  readZone<T>(zoneId: string, path: string): Promise<Reply<T>> {
    return this.#send(`/zones/${zoneId}/${path}`);
  }

  /** The account's zones. */
  listZones<T>(): Promise<Reply<T[]>> {
    return this.#list(`/zones?account.id=${this.accountId}`);
  }

  /** Every page of a list below the account. */
  list<T>(path: string): Promise<Reply<T[]>> {
    return this.#list(`/accounts/${this.accountId}/${path}?`);
  }

  /** Asks Analytics Engine in SQL. */
  async askMetrics(sql: string): Promise<number> {
    return (await this.#send(`/accounts/${this.accountId}/analytics_engine/sql`, sql)).status;
  }

  /** Whether the login may read the account's analytics. */
  async mayReadAnalytics(): Promise<boolean> {
    const query = `{ viewer { accounts(filter: { accountTag: "${this.accountId}" }) { __typename } } }`;
    const { status, body } = await this.#fetch("/graphql", JSON.stringify({ query }));
    const { data, errors } = (body ?? {}) as { data?: { viewer?: { accounts?: unknown[] } }; errors?: unknown[] | null };
    return status === 200 && !errors?.length && data?.viewer?.accounts?.length === 1;
  }

  async #list<T>(path: string): Promise<Reply<T[]>> {
    const all: T[] = [];
    for (let page = 1; page <= MAX_PAGES; page++) {
      const { status, result } = await this.#send<T[]>(`${path}&page=${page}&per_page=${PAGE_SIZE}`);
      if (result === undefined) return { status, result };
      // One that is not paged answers the same again.
      if (result.length === 0 || (page > 1 && JSON.stringify(result[0]) === JSON.stringify(all[0]))) break;
      all.push(...result);
    }
    return { status: 200, result: all };
  }

  async #send<T>(path: string, body?: string): Promise<Reply<T>> {
    const { status, body: answer } = await this.#fetch(path, body);
    return { status, result: status === 200 ? ((answer as { result?: T } | undefined)?.result ?? undefined) : undefined };
  }

  async #fetch(path: string, body?: string): Promise<{ status: number; body: unknown }> {
    const init = { headers: this.#headers, signal: AbortSignal.timeout(REQUEST_MS), ...(body !== undefined && { method: "POST", body }) };
    try {
      const response = await fetch(this.#url + path, init);
      const text = await response.text();
      return { status: response.status, body: response.headers.get("Content-Type")?.includes("json") ? JSON.parse(text) : undefined };
    } catch (error) {
      throw new UserError(`The Cloudflare API did not answer: ${networkErrorText(error)}.`);
    }
  }
}
