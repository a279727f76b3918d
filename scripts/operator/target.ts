import { devVarsPath, readDevVars } from "../dev/dev-vars.ts";
import { PlainError } from "../dev/flags.ts";
import { ROOT } from "../dev/project.ts";

/** A deployment's operator surface, and what opens it. */
export interface OperatorTarget {
  /** Without a slash at its end. */
  url: string;
  token: string;
}

/** The token must not travel in the clear further than this machine. */
const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/**
 * Which deployment a command is about. The token is never an argument: it is that of OPERATOR_TOKEN in the environment, or for a
 * service on this machine that of .dev.vars.
 * @param localToken reads the latter.
 * @throws PlainError that says what is missing.
 */
export function operatorTarget(
  given: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
  localToken: () => string | undefined = tokenOfDevVars,
): OperatorTarget {
  if (given === undefined || !URL.canParse(given)) throw new PlainError("Say where the service is: --url https://…");
  const { protocol, hostname, href } = new URL(given);
  const isLocal = LOOPBACK.has(hostname);
  if (protocol !== "https:" && !(protocol === "http:" && isLocal)) {
    throw new PlainError("--url takes an https URL, or http for this machine: the operator's token is sent there.");
  }
  // While it is rotated the variable may hold several; any of them opens the surface.
  const token = (environment["OPERATOR_TOKEN"] ?? (isLocal ? localToken() : undefined))?.split(",")[0]?.trim();
  if (!token) throw new PlainError("Put the deployment's operator token into the environment: OPERATOR_TOKEN=…");
  return { url: href.replace(/\/+$/, ""), token };
}

function tokenOfDevVars(): string | undefined {
  return readDevVars(devVarsPath(ROOT, undefined))["OPERATOR_TOKEN"];
}
