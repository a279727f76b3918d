import { useRef } from "preact/hooks";
import { Link, useLocation } from "wouter-preact";
import { AVAILABILITIES, availability, setAvailability } from "./members.ts";
import type { Page } from "./routes.ts";
import { SearchButton } from "./search/search-everywhere.tsx";
import { session, signOut } from "./session.ts";
import { setTheme, theme, THEMES } from "./theme.ts";
import { IconButton } from "./ui/button.tsx";
import { Select } from "./ui/field.tsx";
import { Icon } from "./ui/icon.tsx";
import { showError } from "./ui/toast.tsx";

/** The pages that the bar of a narrow screen has room for. The others are in its menu. */
const PAGES_IN_BAR = 4;

/** The links to the pages: a column or, on a narrow screen, a bar with a menu. */
export function Navigation({ pages }: { pages: readonly Page[] }) {
  const [location] = useLocation();
  const menu = useRef<HTMLDivElement>(null);
  const title = session.value?.kind === "workspace" ? session.value.workspace.name : "Operator";
  const link = ({ path, title: name, icon }: Page) => (
    <Link href={path} aria-current={location.startsWith(path) ? "page" : undefined} onClick={() => menu.current?.hidePopover()}>
      <Icon name={icon} size={18} />
      <span>{name}</span>
    </Link>
  );
  const mayFind = session.value?.kind === "workspace";
  const inMenu = pages.slice(PAGES_IN_BAR);
  return (
    <nav class="navigation" aria-label="Console">
      <p class="workspace-name" title={title}>
        {title}
      </p>
      {mayFind && <SearchButton />}
      <ul>
        {pages.map((page, at) => (
          <li key={page.path} class={at < PAGES_IN_BAR ? "" : "only-wide"}>
            {link(page)}
          </li>
        ))}
      </ul>
      <SignedIn />
      <button
        type="button"
        class={inMenu.some(({ path }) => location.startsWith(path)) ? "more only-narrow is-current" : "more only-narrow"}
        popovertarget="more"
      >
        <Icon name="more" size={18} />
        <span>More</span>
      </button>
      <div id="more" class="menu" popover="auto" ref={menu}>
        <p class="workspace-name">{title}</p>
        {mayFind && <SearchButton onOpen={() => menu.current?.hidePopover()} />}
        <ul>
          {inMenu.map((page) => (
            <li key={page.path}>{link(page)}</li>
          ))}
        </ul>
        <SignedIn />
      </div>
    </nav>
  );
}

function SignedIn() {
  return (
    <div class="signed-in">
      {availability.value && (
        <Select
          label="Your availability"
          hideLabel
          options={AVAILABILITIES}
          value={availability.value}
          onChoose={(next) => void setAvailability(next)}
        />
      )}
      <Select label="Theme" hideLabel options={THEMES} value={theme.value} onChoose={setTheme} />
      <span title={session.value?.name}>{session.value?.name || "Signed in"}</span>
      <IconButton icon="signOut" label="Sign out" onClick={() => void signOut().catch(showError)} />
    </div>
  );
}
