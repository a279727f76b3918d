import { useEffect, useState } from "preact/hooks";
import { Link, Redirect, Route, Router, Switch } from "wouter-preact";
import { useHashLocation } from "wouter-preact/use-hash-location";
import { useOnline } from "../shared/online.ts";
import { consentRequest } from "./consent-request.ts";
import { SHORTCUTS, useShortcuts } from "./keyboard.ts";
import { isLive } from "./live.ts";
import { Navigation } from "./navigation.tsx";
import { CONSENT_PAGE, OPERATOR_PAGES, type Page, WORKSPACE_PAGES } from "./routes.ts";
import { SearchEverywhere } from "./search/search-everywhere.tsx";
import { hasEnded, hasScope, session, signInLink } from "./session.ts";
import { SignIn, SignInAgain } from "./sign-in.tsx";
import { pageTitle, useWaiting } from "./waiting.ts";
import { Dialog, openDialogs } from "./ui/dialog.tsx";
import { Empty, NeedsScope } from "./ui/states.tsx";
import { dismissErrors, Toasts } from "./ui/toast.tsx";

/** @param problem why the sign-in link failed. */
export function App({ problem }: { problem: string | undefined }) {
  if (!session.value || signInLink.value) return <SignIn problem={problem} />;
  if (consentRequest.value !== undefined) return <PageOutlet page={CONSENT_PAGE} />;
  return (
    <Router hook={useHashLocation}>
      <Console pages={session.value.kind === "operator" ? OPERATOR_PAGES : WORKSPACE_PAGES} />
      {hasEnded.value && <SignInAgain />}
      {openDialogs.value.length === 0 && <Toasts />}
    </Router>
  );
}

function Console({ pages }: { pages: readonly Page[] }) {
  useWaiting();
  const allowed = pages.filter(({ scope }) => scope === undefined || hasScope(scope));
  return (
    <div class="console">
      <Navigation pages={allowed} />
      <Switch>
        {pages.map((page) => (
          <Route key={page.path} path={page.path} nest>
            <PageOutlet page={page} />
          </Route>
        ))}
        <Route path="/">
          <Redirect to={(allowed[0] ?? pages[0])!.path} replace />
        </Route>
        <Route>
          <main class="page">
            <Empty title="There is no such page" action={<Link href="/">Go to the inbox</Link>} />
          </main>
        </Route>
      </Switch>
      <ShortcutList />
      {session.value?.kind === "workspace" && <SearchEverywhere />}
      <Offline />
    </div>
  );
}

function PageOutlet({ page }: { page: Page }) {
  useEffect(() => {
    pageTitle.value = page.title;
    return dismissErrors;
  }, [page]);
  const content = <page.View />;
  return (
    <main class="page" id="main" tabIndex={-1}>
      {page.scope ? <NeedsScope scope={page.scope}>{content}</NeedsScope> : content}
    </main>
  );
}

/** The dialog that lists all shortcuts. The operator's console has no inbox. */
function ShortcutList() {
  const [isOpen, setOpen] = useState(false);
  useShortcuts({ "?": () => setOpen(true) });
  if (!isOpen) return null;
  const names: Record<string, string> = { Escape: "Esc" };
  const all = Object.entries<Record<string, string>>(SHORTCUTS);
  const shown = session.value?.kind === "operator" ? all.slice(0, 1) : all;
  return (
    <Dialog title="Keyboard shortcuts" onClose={() => setOpen(false)}>
      {shown.map(([where, keys]) => (
        <section key={where}>
          <h3>{where}</h3>
          <dl class="keys">
            {Object.entries(keys).map(([key, action]) => (
              <div key={key}>
                <dt>
                  <kbd>{names[key] ?? key}</kbd>
                </dt>
                <dd>{action}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Dialog>
  );
}

function Offline() {
  const isOnline = useOnline();
  if (isOnline) return isLive.value || session.value?.kind === "operator" ? null : <p class="sr-only">Updated every half minute</p>;
  return (
    <p class="offline" role="status">
      You are offline. What you see may be out of date; what you write is kept.
    </p>
  );
}
