import type { CloudflareApi } from "./api.ts";
import { fault, type Finding, missing, note, ok } from "./findings.ts";
import type { Project } from "./project.ts";

interface Zone {
  id: string;
  name: string;
  status: string;
}

/** Whether the account has an active zone for each host of the configuration. */
export async function checkHosts(api: CloudflareApi, { hosts }: Project): Promise<Finding[]> {
  if (hosts.length === 0) return [];
  const { result: zones } = await api.listZones<Zone>();
  if (!zones) return [note("Domains", "the login may not read them: give the token the permission Zone: Read")];
  return hosts.map((host) => hostFinding(host, zones));
}

function hostFinding(host: string, zones: Zone[]): Finding {
  const subject = `Domain ${host}`;
  const zone = zones.find(({ name }) => host === name || host.endsWith(`.${name}`));
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
