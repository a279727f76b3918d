import type { CloudflareApi, Reply } from "./api.ts";
import { fault, type Finding, missing, note, ok, taken } from "./findings.ts";
import type { Project } from "./project.ts";

interface Zone {
  id: string;
  name: string;
  status: string;
}

/** A custom domain of a Worker of the account. */
interface WorkerDomain {
  hostname: string;
  service: string;
}

/** The records that wrangler replaces with the Worker's own. */
const ADDRESS_RECORDS = new Set(["A", "AAAA", "CNAME"]);

/**
 * Checks that each host of the configuration is in an active zone of the account, and that no custom domain is taken from somebody else.
 * Wrangler asks about that only in a terminal. Elsewhere it replaces the DNS records of a custom domain, and takes it from another Worker.
 * @param takeDomain the hosts that may be taken.
 */
export async function checkHosts(api: CloudflareApi, project: Project, takeDomain: readonly string[] = []): Promise<Finding[]> {
  const { hosts, customDomains, worker, isOnWorkersDev } = project;
  if (hosts.length === 0) return [];
  const [zones, domains] = await Promise.all([api.listZones<Zone>(), api.list<WorkerDomain>("workers/domains")]);
  const found = await Promise.all(
    hosts.map(async (host) => {
      const subject = `Domain ${host}`;
      const zone = zones.result && zoneOf(host, zones.result);
      if (customDomains.includes(host) && !takeDomain.includes(host)) {
        const service = domains.result?.find(({ hostname }) => hostname === host)?.service;
        if (service === worker) return ok(subject, "points to the Worker");
        const loss = service === undefined ? await lossOf(api, host, zones, domains) : `it belongs to the Worker ${service}`;
        if (loss !== undefined) return taken(subject, `${loss}. To go on, add \`--take-domain ${host}\``);
      }
      if (!zones.result) return note(subject, "the login may not read its zone: give the token the permission Zone: Read");
      return hostFinding(subject, zone);
    }),
  );
  if (isOnWorkersDev !== undefined) return found;
  const undecided = "with routes, a deployment ends the address on workers.dev, and websites that embed the chat from it lose it";
  return [...found, missing("workers.dev", `${undecided}: write \`workers_dev = true\` to keep it, or false`)];
}

/** Returns the zone of a host: the longest name if several zones contain it. */
function zoneOf(host: string, zones: readonly Zone[]): Zone | undefined {
  const around = zones.filter(({ name }) => host === name || host.endsWith(`.${name}`));
  return around.toSorted((one, other) => other.name.length - one.name.length)[0];
}

/** Returns what a deployment would replace on a host that belongs to no known Worker, or why that is unknown; undefined if the host is free. */
async function lossOf(api: CloudflareApi, host: string, zones: Reply<Zone[]>, domains: Reply<WorkerDomain[]>): Promise<string | undefined> {
  if (!domains.result) return "the login may not read who has it: give the token the permission Workers Scripts: Edit";
  const zone = zones.result && zoneOf(host, zones.result);
  if (!zone) return zones.result ? undefined : "the login may not read its zone: give the token the permissions Zone: Read and DNS: Read";
  const { result: records } = await api.readZone<{ type: string; content: string }[]>(zone.id, `dns_records?name=${host}&per_page=50`);
  if (!records) return "the login may not read whether it has DNS records: give the token the permission DNS: Read";
  const replaced = records.filter(({ type }) => ADDRESS_RECORDS.has(type)).map(({ type, content }) => `${type} ${content}`);
  return replaced.length === 0 ? undefined : `a deployment would replace its DNS records: ${replaced.join(", ")}`;
}

function hostFinding(subject: string, zone: Zone | undefined): Finding {
  if (zone?.status === "active") return ok(subject, `in the zone ${zone.name}`);
  if (zone) return missing(subject, `the zone ${zone.name} is ${zone.status}: set its name servers at the registrar`);
  return missing(subject, "its zone is not in this account: add the domain at https://dash.cloudflare.com/?to=/:account/add-site");
}

interface Rule {
  enabled?: boolean;
  matchers?: { type: string; value?: string }[];
  actions?: { type: string; value?: string[] }[];
}

const ROUTING_DOCS = 'docs/email.md, "Set up a mailbox"';

/** Whether mail that Email Routing hands to the Worker can be answered: replies go to an address with a token after a plus. */
export async function checkMail(api: CloudflareApi, { uses, worker }: Project): Promise<Finding[]> {
  if (!uses.mail) return [];
  const { result: zones } = await api.listZones<Zone>();
  const found = zones ? await Promise.all(zones.map((zone) => zoneFindings(api, zone, worker))) : [undefined];
  const findings = found.flatMap((one) => one ?? []);
  if (findings.length > 0) return findings;
  const isUnread = found.length > 0 && found.every((one) => one === undefined);
  const permissions = "permissions Zone: Read, Email Routing Rules: Read, Zone Settings: Read";
  const reason = isUnread
    ? `the login may not read Email Routing (${permissions}); see`
    : "no address is routed to the Worker. For mail, see";
  return [note("Mail", `${reason} ${ROUTING_DOCS}`)];
}

interface SendingDomain {
  /** A domain, or all below one: `*.example.com`. */
  name: string;
  enabled: boolean;
}

/** What was found about the mail of a zone; nothing if it hands none to the Worker, undefined if the login may not read that. */
async function zoneFindings(api: CloudflareApi, { id, name }: Zone, worker: string): Promise<Finding[] | undefined> {
  const [settings, rules, sending] = await Promise.all([
    api.readZone<{ enabled?: boolean; support_subaddress?: boolean }>(id, "email/routing"),
    api.readZone<Rule[]>(id, "email/routing/rules?per_page=50"),
    api.readZone<SendingDomain[]>(id, "email/sending/subdomains"),
  ]);
  if (!settings.result || !rules.result) return undefined;
  const own = rules.result.filter(
    (rule) => rule.enabled !== false && rule.actions?.some(({ type, value }) => type === "worker" && value?.includes(worker)),
  );
  if (own.length === 0) return [];
  const matchers = own.flatMap((rule) => rule.matchers ?? []);
  const isCatchAll = matchers.some(({ type }) => type === "all");
  const addresses = matchers.flatMap(({ value }) => value ?? []);
  const routed = `${isCatchAll ? `all of ${name}` : addresses.join(", ")} is routed to the Worker`;
  const hosts = isCatchAll ? [name] : [...new Set(addresses.map((address) => address.slice(address.indexOf("@") + 1)))];
  const problem = routingProblem(settings.result, isCatchAll) ?? sendingProblem(hosts, sending.result);
  const subject = `Mail ${name}`;
  if (problem !== undefined) return [fault(subject, `${routed}, but ${problem}`)];
  if (sending.result) return [ok(subject, `${routed}, replies with it`)];
  const unread = `the login may not read whether it may send answers (permission Email Sending: Read); see ${ROUTING_DOCS}`;
  return [note(subject, `${routed}, replies with it; ${unread}`)];
}

function routingProblem(settings: { enabled?: boolean; support_subaddress?: boolean }, isCatchAll: boolean): string | undefined {
  if (settings.enabled === false) return "Email Routing is off: switch it on in the dashboard, Email Routing";
  if (isCatchAll || settings.support_subaddress) return undefined;
  return "replies to it bounce: switch on subaddressing in the dashboard, Email Routing, Settings";
}

/** A domain that is not onboarded receives mail, but its answers are refused. */
function sendingProblem(hosts: string[], domains: SendingDomain[] | undefined): string | undefined {
  const maySend = (host: string) =>
    domains?.some(({ name, enabled }) => enabled && (name === host || name === `*.${host.slice(host.indexOf(".") + 1)}`));
  const refused = domains && hosts.find((host) => !maySend(host));
  if (refused === undefined) return undefined;
  return `answers from ${refused} are refused: onboard it with \`npx wrangler email sending enable ${refused}\`, and wait until its DNS records are verified`;
}
