import { render } from "preact";
import { App } from "./app.tsx";
import { errorText } from "./api.ts";
import { takeConsentRequest } from "./consent-request.ts";
import { startShortcuts } from "./keyboard.ts";
import { startLive } from "./live.ts";
import { startAvailability } from "./members.ts";
import { loadSession, session, takeProblem } from "./session.ts";
import { startTheme } from "./theme.ts";
import { showError } from "./ui/toast.tsx";

startTheme();
let problem = takeProblem();
takeConsentRequest();
try {
  await loadSession();
} catch (error) {
  if (session.value) showError(error);
  else problem = errorText(error);
}
startLive();
startAvailability();
startShortcuts();
render(<App problem={problem} />, document.getElementById("app")!);
