import type { Host } from "./host.ts";

// This module imports nothing that the panel has too, for the reason given in files.ts.

/** https://developers.cloudflare.com/turnstile/get-started/client-side-rendering/ */
const SCRIPT = "https://challenges.cloudflare.com/turnstile/v0/api.js?render=explicit";
/** The service accepts tokens of this action only. */
const ACTION = "support-agent";

interface Turnstile {
  render: (element: HTMLElement, options: Record<string, unknown>) => string;
  remove: (id: string) => void;
}

declare global {
  interface Window {
    turnstile?: Turnstile;
    trustedTypes?: {
      createPolicy: (name: string, rules: { createScriptURL: (url: string) => string }) => { createScriptURL: (url: string) => string };
    };
  }
}

let script: Promise<Turnstile> | undefined;

function loadTurnstile(): Promise<Turnstile> {
  script ??= new Promise<Turnstile>((resolve, reject) => {
    if (window.turnstile) return resolve(window.turnstile);
    const element = document.createElement("script");
    const policy = window.trustedTypes?.createPolicy("support-agent", { createScriptURL: (url) => url });
    element.src = policy ? policy.createScriptURL(SCRIPT) : SCRIPT;
    element.addEventListener("load", () =>
      window.turnstile ? resolve(window.turnstile) : reject(new Error("The challenge was not solved")),
    );
    element.addEventListener("error", () => reject(new Error("The challenge was not solved")));
    document.head.append(element);
  });
  script.catch(() => (script = undefined));
  return script;
}

/**
 * Asks the visitor to confirm that they are human, and returns the token that proves it. The challenge is in a slot of the panel, because
 * Turnstile does not work inside a shadow tree.
 * @param show called when the challenge becomes visible, and when it ends.
 * @throws Error if the challenge cannot be shown or is not solved.
 */
export async function solveChallenge(
  { element, settings }: Pick<Host, "element" | "settings">,
  show: (isShown: boolean) => void,
): Promise<string> {
  const turnstile = await loadTurnstile();
  const container = document.createElement("div");
  container.slot = "challenge";
  element.append(container);
  let id: string | undefined;
  try {
    return await new Promise<string>((resolve, reject) => {
      id = turnstile.render(container, {
        sitekey: settings.turnstile_site_key,
        action: ACTION,
        appearance: "interaction-only",
        "before-interactive-callback": () => {
          container.style.marginBlockEnd = "8px";
          show(true);
        },
        callback: resolve,
        "error-callback": () => reject(new Error("The challenge was not solved")),
      });
    });
  } finally {
    show(false);
    if (id !== undefined) turnstile.remove(id);
    container.remove();
  }
}
