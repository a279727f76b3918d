import { UserError } from "../shared/cli.ts";
import { type Client, createClient } from "../shared/service.ts";
import type { Wrangler } from "./wrangler.ts";

const API = "https://api.cloudflare.com/client/v4";
/** The most that each of the lists takes. */
const PAGE_SIZE = 50;
const MAX_PAGES = 200;

/** The API's answer; `result` is undefined if the API refused. */
export interface Reply<T> {
  status: number;
  result: T | undefined;
}

/** The login of wrangler, as `wrangler auth token` prints it. */
type Login = { type: "api_token" | "oauth"; token: string } | { type: "api_key"; key: string; email: string };

/** An account's Cloudflare API, with wrangler's login. It only reads: every change is left to wrangler. */
export class CloudflareApi {
  readonly accountId: string;
  readonly #client: Client;
  /** Analytics Engine takes a query as text. */
  readonly #textClient: Client;

  constructor(accountId: string, login: Login, url: string = API) {
    const headers: Record<string, string> =
      login.type === "api_key" ? { "X-Auth-Key": login.key, "X-Auth-Email": login.email } : { Authorization: `Bearer ${login.token}` };
    this.accountId = accountId;
    this.#client = createClient(url, headers);
    this.#textClient = createClient(url, { ...headers, "Content-Type": "text/plain" });
  }

  /** Opens an account's API with the login that wrangler uses. */
  static async open(wrangler: Wrangler, accountId: string): Promise<CloudflareApi> {
    const login = JSON.parse((await wrangler.run("auth", "token", "--json")).stdout) as Login;
    return new CloudflareApi(accountId, login, wrangler.env["CLOUDFLARE_API_BASE_URL"]);
  }

  /** Reads a path below the account. */
  read<T>(path: string): Promise<Reply<T>> {
    return this.#get(`/accounts/${this.accountId}/${path}`);
  }

  /** Reads a path below a zone. */
  readZone<T>(zoneId: string, path: string): Promise<Reply<T>> {
    return this.#get(`/zones/${zoneId}/${path}`);
  }

  /** Reads every page of the account's zones. */
  listZones<T>(): Promise<Reply<T[]>> {
    return this.#list(`/zones?account.id=${this.accountId}`);
  }

  /** Reads every page of a list below the account. */
  list<T>(path: string): Promise<Reply<T[]>> {
    return this.#list(`/accounts/${this.accountId}/${path}?`);
  }

  /** The status with which Analytics Engine answers a query in SQL. */
  async queryMetrics(sql: string): Promise<number> {
    return (await this.#textClient.send("POST", `/accounts/${this.accountId}/analytics_engine/sql`, sql)).status;
  }

  /** Whether the login may read the account's analytics. */
  async mayReadAnalytics(): Promise<boolean> {
    const query = `{ viewer { accounts(filter: { accountTag: "${this.accountId}" }) { __typename } } }`;
    const { status, body } = await this.#client.send("POST", "/graphql", { query });
    const { data, errors } = (body ?? {}) as { data?: { viewer?: { accounts?: unknown[] } }; errors?: unknown[] | null };
    return status === 200 && !errors?.length && data?.viewer?.accounts?.length === 1;
  }

  async #list<T>(path: string): Promise<Reply<T[]>> {
    const all: T[] = [];
    for (let page = 1; page <= MAX_PAGES; page++) {
      const { status, result } = await this.#get<T[]>(`${path}&page=${page}&per_page=${PAGE_SIZE}`);
      if (result === undefined) return { status, result };
      // A list without pages answers the same again.
      if (result.length === 0 || (page > 1 && JSON.stringify(result[0]) === JSON.stringify(all[0]))) break;
      all.push(...result);
    }
    return { status: 200, result: all };
  }

  async #get<T>(path: string): Promise<Reply<T>> {
    const { status, body } = await this.#client.send("GET", path);
    return { status, result: status === 200 ? ((body as { result?: T }).result ?? undefined) : undefined };
  }
}

/**
 * What a deployment reads of the account before it changes it.
 * @throws UserError where the API refuses.
 */
export function required<T>({ status, result }: Reply<T>, subject: string): T {
  if (result === undefined) throw new UserError(`The account's ${subject} cannot be read: the API answered ${status}.`);
  return result;
}
