import { effect, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { api } from "./api.ts";
import { useQuery } from "./query.ts";
import { formatNumber } from "./ui/format.tsx";
import { hasScope } from "./session.ts";

/** How many conversations wait for the team; undefined until that is known. */
export const waiting = signal<number | undefined>(undefined);
/** The title of the open page. */
export const pageTitle = signal("");

effect(() => {
  const count = waiting.value ? `(${formatNumber(waiting.value)}) ` : "";
  if (pageTitle.value !== "") document.title = `${count}${pageTitle.value} – Support Agent Service`;
});

/** Keeps the number of waiting conversations up to date while the console is open, and alerts the user when it grows. */
export function useWaiting(): void {
  const isAllowed = hasScope("conversations:read");
  const read = async (signal: AbortSignal) =>
    isAllowed ? (await api.listConversations({ status: "needs_human", snoozed: "false", limit: 1 }, { signal })).total : undefined;
  const { data: total } = useQuery("waiting", read, ({ kind }) => isAllowed && kind === "conversation");
  useEffect(() => {
    const before = waiting.peek();
    waiting.value = total;
    if (before !== undefined && total !== undefined && total > before && !document.hasFocus()) alertUser(total);
  }, [total]);
}

const ALERTS = "console.alerts";

/** How the user is told that somebody waits while another window has the focus. Both are off until the user switches them on. */
export interface Alerts {
  sound: boolean;
  notification: boolean;
}

function readAlerts(): Alerts {
  const { sound = false, notification = false } = JSON.parse(localStorage.getItem(ALERTS) ?? "{}") as Partial<Alerts>;
  return { sound, notification: notification && "Notification" in window && Notification.permission === "granted" };
}

export const alerts = signal<Alerts>(readAlerts());

export function keepAlerts(next: Alerts): void {
  alerts.value = next;
  localStorage.setItem(ALERTS, JSON.stringify(next));
}

function alertUser(total: number): void {
  if (alerts.peek().sound) playSound();
  if (alerts.peek().notification) notifyUser(total);
}

function notifyUser(total: number): void {
  const body = total === 1 ? "One conversation waits for the team." : `${total} conversations wait for the team.`;
  try {
    new Notification("Somebody is waiting", { body, tag: "waiting" }).addEventListener("click", () => {
      window.focus();
      location.hash = "/inbox";
    });
  } catch {
    // Chrome on Android refuses notifications of pages.
  }
}

/** Plays a short tone. */
export function playSound(): void {
  const context = new AudioContext();
  const [tone, volume] = [context.createOscillator(), context.createGain()];
  tone.frequency.value = 660;
  volume.gain.setValueAtTime(0.2, context.currentTime);
  volume.gain.exponentialRampToValueAtTime(0.001, context.currentTime + 0.4);
  tone.connect(volume).connect(context.destination);
  tone.addEventListener("ended", () => void context.close());
  tone.start();
  tone.stop(context.currentTime + 0.4);
}
