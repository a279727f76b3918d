/*
 * `/widget.js`, which websites include: it defines `<support-agent>` and `SupportAgent(…)`, and shows the launcher. The chat itself is
 * another module (panel.tsx), which is imported when a visitor is about to use it, because every page that includes this file loads it.
 */
import { chooseLanguage, type WidgetLanguage } from "../../src/agents/widget-texts.ts";
import { textOn } from "../shared/colour.ts";
import type { Call, Host, Panel, Settings } from "./host.ts";
import css from "./launcher.css";
import { createLauncher } from "./launcher.ts";

/** The folder of the modules, and the label of the launcher in each language. The build fills them in. */
declare const MODULES: string;
declare const OPEN_CHAT: Record<WidgetLanguage, string>;

const TAG = "support-agent";
const script = document.currentScript as HTMLScriptElement | null;
const service = new URL((script ?? document.querySelector<HTMLScriptElement>("script[src*='/widget.js']")!).src).origin;
const scope = window as unknown as { SupportAgent?: ((...call: Call) => void) & { q?: Call[] } };

/** All calls of `SupportAgent(…)`, which also apply to chats that are added later. */
const calls: Call[] = [];
const elements = new Set<SupportAgentElement>();

/** Imports a module; after a deployment, a script that the browser cached names a folder that is gone, and gets the newest one. */
const importModule = <Module>(name: string): Promise<Module> =>
  import(`${service + MODULES + name}.js`).catch(() => import(`${service}/widget/${name}.js`));

/** The language of the page, the browser or the agent. */
function languageFor(element: HTMLElement, { language, languages }: Settings): WidgetLanguage {
  const page = element.closest<HTMLElement>("[lang]");
  return chooseLanguage([page?.lang ?? "", ...navigator.languages, language], languages, Object.keys(OPEN_CHAT));
}

const fail = (error: unknown): void => console.error("Support agent:", error);

class SupportAgentElement extends HTMLElement {
  panel: Promise<Panel> | undefined;
  private settings: Promise<Settings> | undefined;

  connectedCallback(): void {
    elements.add(this);
    const isFloating = this.hasAttribute("launcher");
    if (this.settings) {
      if (isFloating && this.shadowRoot) this.showPopover();
      return void this.panel?.then((panel) => panel.resume());
    }
    this.settings = fetch(`${service}/widget/v1/agents/${this.getAttribute("agent")}`)
      .then((response) => response.json())
      .then((body: Settings & { error?: { message: string } }) => {
        if (body.error) throw body.error.message;
        return body;
      });
    if (isFloating) {
      // A popover is above the whole page, whatever its z-indexes and transforms.
      this.popover = "manual";
      this.settings.then((settings) => this.showLauncher(settings), fail);
    } else {
      this.attachStyles();
      this.load().catch(fail);
    }
  }

  disconnectedCallback(): void {
    elements.delete(this);
    void this.panel?.then((panel) => panel.pause());
  }

  private attachStyles(): void {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    this.attachShadow({ mode: "open" }).adoptedStyleSheets = [sheet];
  }

  private showLauncher(settings: Settings): void {
    this.attachStyles();
    if (this.isConnected) this.showPopover();
    const {
      id,
      appearance: { accent, launcher, position },
      languages,
    } = settings;
    const language = languageFor(this, settings);
    // Launchers in one corner are stacked.
    const row = document.querySelectorAll(`${TAG}.${position}`).length;
    this.style.cssText = `--accent:${accent};--on-accent:${textOn(accent)};--row:${row}`;
    if (launcher !== "hidden") {
      const button = createLauncher(position, languages[language]?.open_chat ?? OPEN_CHAT[language]);
      button.onpointerenter = button.onfocus = () => void this.load();
      button.onclick = () => this.open();
      this.shadowRoot!.append(button);
      this.className = position;
    }
    // The panel adds the text of the launcher, and shows the replies of humans.
    if (launcher === "label" || isLive(id)) void this.load();
  }

  /** Loads the chat. After a failure the next call tries again. */
  load(): Promise<Panel> {
    return (this.panel ??= this.mount().catch((error: unknown) => {
      this.panel = undefined;
      throw error;
    }));
  }

  private async mount(): Promise<Panel> {
    const module = importModule<{ mount: (host: Host) => Promise<Panel> }>("panel");
    const settings = await this.settings!;
    const language = languageFor(this, settings);
    if (language !== "en") void importModule(language);
    return (await module).mount({ element: this, service, settings, language, calls });
  }

  open(): void {
    this.load().then((panel) => panel.open(), fail);
  }
}

/** Whether a human may reply to this visitor, by what the panel has stored (memory.ts). */
function isLive(agentId: string): boolean | undefined {
  try {
    return localStorage.getItem(`${TAG}:${agentId}`)?.includes('"live":true');
  } catch {
    // The page may not use the storage.
  }
}

/** Forgets the visitor of an agent, whose panel may not be loaded. The time is an event for the panels in other tabs (chat.ts). */
function forget(agentId: string): void {
  try {
    localStorage.removeItem(`${TAG}:${agentId}`);
    localStorage.setItem(`${TAG}:${agentId}:reset`, `${Date.now()}`);
  } catch {
    // The page may not use the storage.
  }
}

if (script?.dataset["agent"]) {
  const element = document.createElement(TAG);
  element.setAttribute("agent", script.dataset["agent"]);
  element.setAttribute("launcher", "");
  if (script.lang) element.lang = script.lang;
  // It is outside the body, which some frameworks replace.
  document.documentElement.append(element);
}

if (!customElements.get(TAG)) {
  customElements.define(TAG, SupportAgentElement);
  const early = scope.SupportAgent?.q ?? [];
  scope.SupportAgent = (...call) => {
    calls.push(call);
    if (call[0] === "open") return [...elements][0]?.open();
    for (const element of elements) {
      if (call[0] === "destroy") element.remove();
      if (call[0] === "reset") forget(element.getAttribute("agent")!);
      void element.panel?.then((panel) => panel.handleCall(call));
    }
  };
  for (const call of early) scope.SupportAgent(...call);
}
