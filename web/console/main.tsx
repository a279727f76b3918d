import { render } from "preact";
import { App } from "./app.tsx";
import { errorText } from "./api.ts";
import { startShortcuts } from "./keyboard.ts";
import { startLive } from "./live.ts";
import { loadSession } from "./session.ts";

let problem: string | undefined;
try {
  await loadSession();
} catch (error) {
  problem = errorText(error);
}
startLive();
startShortcuts();
render(<App problem={problem} />, document.getElementById("app")!);
