import { PlainError } from "../dev/flags.ts";
import type { Deployment, Step } from "./deployment.ts";
import { WranglerError } from "./wrangler.ts";

interface Whoami {
  loggedIn: boolean;
  email?: string;
  accounts?: { name: string }[];
}

/** Whether wrangler may act for an account. */
export const account: Step = {
  title: "Account",
  next: "Run `npx wrangler login`, or set CLOUDFLARE_API_TOKEN and CLOUDFLARE_ACCOUNT_ID.",
  run: async (deployment) => {
    const found = await whoami(deployment);
    deployment.hasAccount = found.loggedIn;
    if (found.loggedIn) return deployment.say(found.accounts?.map(({ name }) => name).join(", ") || "Cloudflare", "logged in");
    if (!deployment.options.dryRun) throw new PlainError("wrangler is not logged in.");
    deployment.say("Cloudflare", "not logged in: what follows is said without asking an account");
  },
};

async function whoami({ wrangler, options }: Deployment): Promise<Whoami> {
  try {
    return JSON.parse((await wrangler.run("whoami", "--json")).stdout) as Whoami;
  } catch (error) {
    // It fails where nobody is logged in, after saying so; a dry run needs no account, nor a network.
    if (error instanceof WranglerError && (options.dryRun || error.message.includes('"loggedIn":false'))) return { loggedIn: false };
    throw error;
  }
}
