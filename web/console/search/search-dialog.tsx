import { useEffect, useRef, useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import { chooseAgent, useAgents } from "../agents.tsx";
import { leadSearch } from "../leads/lead-search.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Snippet } from "../ui/format.tsx";
import { Icon } from "../ui/icon.tsx";
import { mayLeave } from "../ui/unsaved.ts";
import { findPages, findRecords, type Group, type Result } from "./results.ts";

/** The pause after the last key before the service is asked. */
const TYPING_PAUSE_MS = 200;
const MIN_LENGTH = 2;
/** The longest text that the API searches for. */
const MAX_LENGTH = 200;

interface Found {
  q: string;
  groups: readonly Group[];
}

const NOTHING: Found = { q: "", groups: [] };

interface Props {
  /** Returns what the user wrote before the dialog was shown. */
  takeTyped: () => string;
  onClose: () => void;
}

/** Finds conversations, people, knowledge and pages of the console by words, and opens one. */
export function SearchDialog({ takeTyped, onClose }: Props) {
  const [, navigate] = useLocation();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const q = text.trim();
  const { found, isLoading } = useRecords(q);
  // Pages are found at once and stay in front, so that no result moves when the others arrive.
  const groups = [findPages(q), ...found.groups].filter(({ results, problem }) => results.length > 0 || problem !== undefined);
  const results = groups.flatMap((group) => group.results);
  const current = results[Math.min(at, results.length - 1)];
  useEffect(() => setAt(0), [q]);
  // The field has the focus by now.
  useEffect(() => setText(takeTyped()), []);
  const open = (result: Result) => {
    if (!mayLeave()) return;
    if (result.agentId !== undefined) chooseAgent(result.agentId);
    if (result.leadQuery !== undefined) leadSearch.value = result.leadQuery;
    onClose();
    navigate(result.href);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    const place = current ? results.indexOf(current) : 0;
    if (event.key === "ArrowDown") setAt((place + 1) % Math.max(results.length, 1));
    else if (event.key === "ArrowUp") setAt((place + results.length - 1) % Math.max(results.length, 1));
    else if (event.key === "Enter" && current) open(current);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Search" onClose={onClose} isWide>
      <div class="search">
        <Icon name="search" size={16} />
        <input
          type="text"
          role="combobox"
          aria-label="Search conversations, people and knowledge"
          aria-autocomplete="list"
          aria-expanded={results.length > 0}
          aria-controls="search-results"
          aria-activedescendant={current && optionId(current)}
          autocomplete="off"
          spellcheck={false}
          maxLength={MAX_LENGTH}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
          onKeyDown={onKeyDown}
        />
      </div>
      <div class="search-results" id="search-results" role="listbox" aria-label="Results" aria-busy={isLoading}>
        {groups.map(({ title, results: own, problem }) => (
          <div key={title} role="group" aria-label={title}>
            <p class="quiet" aria-hidden="true">
              {title}
            </p>
            {own.map((result) => (
              <Option key={result.id} result={result} isCurrent={result === current} onChoose={() => open(result)} />
            ))}
            {problem !== undefined && <p class="field-error">{problem}</p>}
          </div>
        ))}
      </div>
      <p class={results.length > 0 || isLoading ? "sr-only" : "quiet"} role="status">
        {statusOf(q, isLoading, results.length)}
      </p>
    </Dialog>
  );
}

/** Asks the service after each pause. What was found before is shown until the answer is there. */
function useRecords(q: string): { found: Found; isLoading: boolean } {
  const [found, setFound] = useState(NOTHING);
  const agents = useAgents();
  const isWanted = q.length >= MIN_LENGTH && !agents.isLoading;
  useEffect(() => {
    if (!isWanted) {
      setFound(NOTHING);
      return undefined;
    }
    const controller = new AbortController();
    const find = async () => {
      const groups = await findRecords(q, agents.data ?? [], controller.signal);
      if (!controller.signal.aborted) setFound({ q, groups });
    };
    const timer = setTimeout(() => void find(), TYPING_PAUSE_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [q, isWanted]);
  return { found: q.length < MIN_LENGTH ? NOTHING : found, isLoading: q.length >= MIN_LENGTH && found.q !== q };
}

function statusOf(q: string, isLoading: boolean, count: number): string {
  if (isLoading) return "Searching …";
  if (count === 0) return `Nothing was found for “${q}”.`;
  return count === 1 ? "1 result" : `${count} results`;
}

const optionId = ({ id }: Result) => `result-${id.replaceAll(" ", "-")}`;

function Option({ result, isCurrent, onChoose }: { result: Result; isCurrent: boolean; onChoose: () => void }) {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isCurrent) element.current?.scrollIntoView({ block: "nearest" });
  }, [isCurrent]);
  return (
    <div
      ref={element}
      class="search-result"
      id={optionId(result)}
      role="option"
      aria-selected={isCurrent}
      // The field keeps the focus.
      onMouseDown={(event) => event.preventDefault()}
      onClick={onChoose}
    >
      <strong>{result.title}</strong>
      {result.detail.length > 0 && (
        <span class="quiet">
          <Snippet parts={result.detail} />
        </span>
      )}
    </div>
  );
}
