import { useEffect, useRef } from "preact/hooks";
import { chooseLanguage, WIDGET_LANGUAGES } from "../../../src/agents/widget-texts.ts";
import { contrastOf, textOn } from "../../shared/colour.ts";
import type { Host, Panel, Settings } from "../../widget/host.ts";
import css from "../../widget/launcher.css";
import { createLauncher } from "../../widget/launcher.ts";
import { loadTexts } from "../../widget/texts.ts";
import { showError } from "../ui/toast.tsx";
import type { AgentSettings } from "./agent-page.tsx";

/** The chat as the loader of websites imports it. */
const PANEL = "/widget/panel.js";
const TYPING_PAUSE_MS = 200;

/** The chat that visitors see before their first question, with settings that need not be saved. It cannot be used. */
export function ChatPreview({ agent, appearance }: { agent: AgentSettings; appearance: AgentSettings["appearance"] }) {
  const place = useRef<HTMLDivElement>(null);
  const settings = { ...agent, appearance };
  const version = JSON.stringify(settings);
  useEffect(() => {
    let isLatest = true;
    const show = async () => {
      const element = await mountChat(settings);
      if (isLatest) place.current?.replaceChildren(element);
    };
    const timer = setTimeout(() => void show().catch(showError), place.current?.firstChild ? TYPING_PAUSE_MS : 0);
    return () => {
      isLatest = false;
      clearTimeout(timer);
    };
  }, [version]);
  const contrast = contrastOf(appearance.accent, textOn(appearance.accent));
  return (
    <div class="stack">
      <div ref={place} class="chat-preview" inert />
      <p class="quiet">Contrast of text on the accent: {contrast.toFixed(1)} to 1</p>
    </div>
  );
}

/** Mounts the chat in an element, as the loader does, but under an id of which the browser stores nothing. */
async function mountChat(agent: AgentSettings): Promise<HTMLElement> {
  const { mount } = (await import(PANEL)) as { mount: (host: Host) => Promise<Panel> };
  const { appearance } = agent;
  // The preview is in the agent's language, and so is a default welcome that the API gives.
  const fixed = { id: "preview", is_default_welcome: false, turnstile_site_key: null, team_open: true, opens_at: null };
  const settings: Settings = { ...agent, ...fixed };
  const language = chooseLanguage([agent.language], agent.languages, WIDGET_LANGUAGES);
  const element = document.createElement("div");
  element.style.setProperty("--row", "0");
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  const root = element.attachShadow({ mode: "open" });
  root.adoptedStyleSheets = [sheet];
  if (appearance.launcher !== "hidden") {
    const { open_chat: label } = await loadTexts(language, agent.languages[language]);
    root.append(createLauncher(appearance.position, label));
  }
  await mount({ element, service: location.origin, settings, language, calls: [] });
  return element;
}
