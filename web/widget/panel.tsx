import { effect, signal } from "@preact/signals";
import { render, type VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { ToolFunctions } from "../../client/stream.ts";
import { directionOf } from "../../src/agents/widget-texts.ts";
import { readableOn, textOn } from "../shared/colour.ts";
import { Icon, type IconName } from "../shared/icons.tsx";
import { plainText } from "../shared/plain-text.ts";
import { Chat } from "./chat.ts";
import { Composer } from "./composer.tsx";
import { ContactForm } from "./contact-form.tsx";
import { History } from "./history.tsx";
import type { Call, EventName, Host, Panel } from "./host.ts";
import type { IdentitySource } from "./identity.ts";
import { loadLexer, MessageList } from "./messages.tsx";
import { Notices } from "./notices.tsx";
import css from "./panel.css";
import { ChallengeError } from "./problem.ts";
import { fill, loadTexts } from "./texts.ts";
import { type Ui, UiContext, useUi } from "./ui.ts";

/** The background colours of panel.css on which text has the accent colour. */
const SURFACES = { light: "#f4f4f6", dark: "#27272c" };
const PRODUCT = "Support Agent";

/**
 * The number of calls that the chats of each agent have carried out. A chat that is added later repeats the last `identify`, but no
 * `reset`.
 */
const obeyed = new Map<string, number>();

/** Shows the chat in the element of its host. */
export async function mount(host: Host): Promise<Panel> {
  const { element, service, settings, language, calls } = host;
  const texts = await loadTexts(language, settings.languages[language]);
  const mode = element.hasAttribute("launcher") ? "floating" : element.hasAttribute("page") ? "page" : "inline";
  const isChallenged = signal(false);
  const view: Ui["view"] = signal("chat");
  const ui: Ui = {
    settings,
    mode,
    language,
    chat: new Chat({
      service,
      settings,
      channel: mode === "page" ? "hosted" : "widget",
      view,
      emit: (event, detail) => emit(host, event, detail),
      isInPage: () => element.isConnected,
      solveChallenge: () =>
        import("./turnstile.ts")
          .then(({ solveChallenge }) => solveChallenge(host, (isShown) => (isChallenged.value = isShown)))
          .catch(() => Promise.reject(new ChallengeError())),
    }),
    view,
    isOpen: signal(mode !== "floating"),
    t: (name, values) => (values ? fill(texts[name], values) : texts[name]),
    close: () => setOpen(host, ui, false),
    focusComposer: () => element.shadowRoot!.querySelector<HTMLElement>("textarea")?.focus(),
  };
  const who = calls.findLast(([command]) => command === "identify" || command === "reset");
  calls.forEach((call, at) => {
    const [command] = call;
    const isObeyed = at < (obeyed.get(settings.id) ?? 0) && (command === "reset" || (command === "identify" && call !== who));
    if (command !== "close" && !isObeyed) handleCall(ui, call);
  });
  obeyed.set(settings.id, calls.length);
  applyAppearance(host);
  const container = document.createElement("div");
  container.className = "place";
  element.shadowRoot!.append(container);
  render(
    <UiContext.Provider value={ui}>
      <Window isChallenged={isChallenged} />
    </UiContext.Provider>,
    container,
  );
  connectLauncher(host, ui);
  // At most one window is open.
  if (mode === "floating") addEventListener("support-agent:opened", ({ target }) => target !== element && ui.close());
  loadLexer();
  void loadFiles(element, ui);
  void ui.chat.restore();
  if (ui.isOpen.value) ui.chat.setShown(true);
  emit(host, "ready");
  return {
    open: () => setOpen(host, ui, true),
    handleCall: (call) => {
      handleCall(ui, call);
      obeyed.set(settings.id, calls.indexOf(call) + 1);
    },
    resume: () => ui.chat.setShown(ui.isOpen.value),
    pause: () => ui.chat.setShown(false),
  };
}

/** Loads what uploads files. Without it, visitors send no files. */
async function loadFiles(element: HTMLElement, { chat }: Ui): Promise<void> {
  try {
    const files = await import("./files.ts");
    adopt(element.shadowRoot!, files.css);
    chat.uploads.value = files.createUploads(signal([]), chat.api);
  } catch {
    // The page's policy or the network forbids it.
  }
}

function adopt(root: ShadowRoot, text: string): void {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(text);
  root.adoptedStyleSheets.push(sheet);
}

function handleCall({ chat, close }: Ui, [command, argument]: Call): void {
  if (command === "close") close();
  else if (command === "identify") chat.identify((argument ?? undefined) as IdentitySource);
  else if (command === "reset") chat.reset();
  else if (command === "tools") chat.setTools(argument as ToolFunctions);
  else if (command === "setContext") chat.setContext(argument as Record<string, string>);
}

/** Dispatches an event on the element, and calls the listeners that the page registered with `SupportAgent("on", …)`. */
function emit({ element, settings, calls }: Host, event: EventName, detail: Record<string, unknown> = {}): void {
  const full = { agent_id: settings.id, ...detail };
  element.dispatchEvent(new CustomEvent(`support-agent:${event}`, { detail: full, bubbles: true, composed: true }));
  for (const [command, name, listener] of calls) {
    // A listener that fails does not end the chat.
    if (command === "on" && name === event) queueMicrotask(() => (listener as (detail: object) => void)(full));
  }
}

function applyAppearance({ element, settings }: Host): void {
  const root = element.shadowRoot!;
  adopt(root, css);
  const { accent, theme } = settings.appearance;
  const colours = {
    "--accent": accent,
    "--on-accent": textOn(accent),
    "--accent-on-light": readableOn(SURFACES.light, accent),
    "--accent-on-dark": readableOn(SURFACES.dark, accent),
  };
  for (const [name, value] of Object.entries(colours)) element.style.setProperty(name, value);
  element.dataset["theme"] = theme;
}

function setOpen(host: Host, ui: Ui, isOpen: boolean): void {
  const isChange = ui.mode === "floating" && ui.isOpen.value !== isOpen;
  if (isChange) {
    if (isOpen) bringToFront(host.element);
    ui.isOpen.value = isOpen;
    ui.chat.setShown(isOpen);
    emit(host, isOpen ? "opened" : "closed");
  }
  if (isOpen) requestAnimationFrame(ui.focusComposer);
  else if (isChange) launcherOf(host)?.focus();
}

/** Shows an element above the chats of other agents, and places its window above the launchers in their corner. */
function bringToFront(element: HTMLElement): void {
  const others = [...document.querySelectorAll<HTMLElement>(`${element.localName}[launcher]`)].filter((other) => other !== element);
  if (others.length === 0) return;
  element.style.setProperty("--rows", String(others.filter(({ className }) => className === element.className).length));
  element.hidePopover();
  element.showPopover();
}

function launcherOf({ element }: Host): HTMLButtonElement | null {
  return element.shadowRoot!.querySelector<HTMLButtonElement>(".launcher");
}

/** Makes the launcher open and close the window, and show the number of unread messages. */
function connectLauncher(host: Host, ui: Ui): void {
  const { chat, isOpen, settings, t } = ui;
  const launcher = launcherOf(host);
  if (!launcher) return;
  if (settings.appearance.launcher === "label") launcher.append(t("launcher_label"));
  const badge = document.createElement("span");
  badge.className = "badge";
  launcher.append(badge);
  launcher.onclick = () => setOpen(host, ui, !isOpen.value);
  effect(() => {
    const count = chat.unread.value;
    badge.textContent = String(count);
    badge.hidden = count === 0;
    launcher.ariaExpanded = String(isOpen.value);
    launcher.ariaLabel = [t(isOpen.value ? "close_chat" : "open_chat"), ...(count > 0 ? [t("unread_messages", { count })] : [])].join(". ");
  });
}

/** What gets the focus when a view opens, and what opened it. */
const FIRST_STOPS = { history: ".tool.back", contact: ".contact :is(input, select, textarea)" };
const OPENERS = { history: ".tool.history", contact: ".notice .chip" };

/** Goes back to the conversation, with the focus on what opened the view. */
function leaveView({ view, focusComposer }: Ui, frame: Element): void {
  const opener = view.value === "chat" ? undefined : OPENERS[view.value];
  view.value = "chat";
  requestAnimationFrame(() => {
    const element = opener && frame.querySelector<HTMLElement>(opener);
    if (element) element.focus();
    else focusComposer();
  });
}

const ROLES = { floating: "dialog", inline: "region", page: "main" } as const;

function Window({ isChallenged }: { isChallenged: { value: boolean } }): VNode {
  const ui = useUi();
  const { settings, mode, chat, language, view, isOpen, t } = ui;
  const frame = useRef<HTMLDivElement>(null);
  useFullScreen(frame);
  useKeptFocus(frame);
  useEffect(() => {
    if (view.value !== "chat") frame.current!.querySelector<HTMLElement>(FIRST_STOPS[view.value])?.focus();
  }, [view.value]);
  return (
    <div
      ref={frame}
      class={`window ${mode} ${settings.appearance.position}`}
      dir={directionOf(language)}
      lang={language}
      role={ROLES[mode]}
      aria-label={t("chat_with", { name: settings.name })}
      hidden={!isOpen.value}
      onKeyDown={(event) => onKeyDown(event, ui)}
    >
      <Header />
      {view.value === "history" && <History />}
      {view.value === "contact" && <ContactForm />}
      <div class="conversation" hidden={view.value !== "chat"}>
        <MessageList />
        <div class="foot">
          <Notices />
          <Composer />
          <p class="small">
            <span>{t("answers_by_ai")}</span>
            {settings.appearance.show_branding && <span>{t("powered_by", { name: PRODUCT })}</span>}
          </p>
        </div>
      </div>
      <div class="foot">
        {isChallenged.value && <p class="notice">{t("challenge")}</p>}
        <slot name="challenge" />
      </div>
      <div class="unseen" role="status">
        {plainText(chat.announcement.value)}
      </div>
    </div>
  );
}

/** Moves the focus to the field for messages when the focused element disappears, such as a pressed button or a sent form. */
function useKeptFocus(frame: { current: HTMLDivElement | null }): void {
  const { focusComposer } = useUi();
  useEffect(() => {
    const element = frame.current!;
    const root = element.getRootNode() as ShadowRoot;
    let focused: Element | null = null;
    element.addEventListener("focusin", () => (focused = root.activeElement));
    const observer = new MutationObserver(() => {
      if (focused?.isConnected === false && document.activeElement === document.body) focusComposer();
    });
    observer.observe(element, { childList: true, subtree: true });
    return () => observer.disconnect();
  }, []);
}

function onKeyDown(event: KeyboardEvent, ui: Ui): void {
  // Text that is typed here must not trigger shortcuts of the page.
  event.stopPropagation();
  if (event.key !== "Escape" || event.isComposing) return;
  if (ui.view.value === "chat") ui.close();
  else leaveView(ui, event.currentTarget as Element);
}

/** The screens on which the window covers the page, such as those of phones. */
const COVERING_SCREENS = "(max-width: 480px), (max-height: 480px)";

/** Keeps a window that covers the page above the on-screen keyboard, traps the focus in it, and stops the page from scrolling. */
function useFullScreen(frame: { current: HTMLDivElement | null }): void {
  const { chat, mode } = useUi();
  const isCovering = mode === "floating" && chat.isShown.value;
  useEffect(() => {
    if (!isCovering || !matchMedia(COVERING_SCREENS).matches) return;
    const { visualViewport } = window;
    const element = frame.current!;
    const { documentElement } = document;
    const overflow = documentElement.style.overflow;
    documentElement.style.overflow = "hidden";
    const fit = () => {
      element.style.setProperty("--height", `${visualViewport?.height ?? innerHeight}px`);
      element.style.setProperty("--top", `${visualViewport?.offsetTop ?? 0}px`);
    };
    const keepFocus = (event: KeyboardEvent) => event.key === "Tab" && wrapFocus(event, element);
    fit();
    visualViewport?.addEventListener("resize", fit);
    visualViewport?.addEventListener("scroll", fit);
    element.addEventListener("keydown", keepFocus);
    element.ariaModal = "true";
    return () => {
      documentElement.style.overflow = overflow;
      visualViewport?.removeEventListener("resize", fit);
      visualViewport?.removeEventListener("scroll", fit);
      element.removeEventListener("keydown", keepFocus);
      element.ariaModal = null;
    };
  }, [isCovering]);
}

function wrapFocus(event: KeyboardEvent, frame: HTMLElement): void {
  const all = [...frame.querySelectorAll<HTMLElement>("button, textarea, input, select, a[href], [tabindex='0']")];
  const stops = all.filter((element) => element.checkVisibility() && !(element as HTMLButtonElement).disabled);
  const active = (frame.getRootNode() as ShadowRoot).activeElement;
  const [from, to] = event.shiftKey ? [stops[0], stops.at(-1)] : [stops.at(-1), stops[0]];
  if (active !== from) return;
  event.preventDefault();
  to?.focus();
}

function Header(): VNode {
  const ui = useUi();
  const { settings, mode, chat, view, t, close, focusComposer } = ui;
  const isChat = view.value === "chat";
  const startNew = () => {
    void chat.openConversation(undefined);
    requestAnimationFrame(focusComposer);
  };
  const title = { chat: settings.name, history: t("history"), contact: t("contact_title") }[view.value];
  return (
    <div class="head">
      {!isChat && (
        <HeadButton icon="back" label={t("back")} onClick={({ currentTarget }) => leaveView(ui, currentTarget.closest(".window")!)} />
      )}
      <div class="title">
        {mode === "page" ? <h1>{title}</h1> : <h2>{title}</h2>}
        {isChat && chat.status.value === "human_active" && <p>{t("human_title")}</p>}
      </div>
      {isChat && chat.memory.value.token && <HeadButton icon="history" label={t("history")} onClick={() => (view.value = "history")} />}
      {isChat && chat.messages.value.length > 0 && <HeadButton icon="compose" label={t("new_conversation")} onClick={startNew} />}
      {mode === "floating" && <HeadButton icon="close" label={t("close_chat")} onClick={close} />}
    </div>
  );
}

function HeadButton({
  icon,
  label,
  onClick,
}: {
  icon: IconName;
  label: string;
  onClick: (event: { currentTarget: Element }) => void;
}): VNode {
  return (
    <button type="button" class={`tool ${icon}`} aria-label={label} title={label} onClick={onClick}>
      <Icon name={icon} />
    </button>
  );
}
