import type { ComponentChildren } from "preact";
import { ApiError } from "../../client/index.ts";
import { api, type Schemas } from "./api.ts";
import { useQuery } from "./query.ts";
import { Dialog } from "./ui/dialog.tsx";
import { Loaded } from "./ui/states.tsx";
import { labelOf } from "./ui/label.ts";
import { formatNumber } from "./ui/time.tsx";

/** Of an answer, or of a case of an evaluation, which has the agent's own settings. */
type Trace = Omit<Schemas["Trace"], "message_id" | "conversation_id" | "agent_id" | "created_at" | "changed_settings"> &
  Partial<Pick<Schemas["Trace"], "changed_settings">>;
type Search = Trace["searches"][number];
type Passage = Search["passages"][number];

interface AnswerIds {
  conversationId: string;
  messageId: string;
}

/** Why an answer was given, over the page. */
export function WhyDialog({ onClose, ...ids }: AnswerIds & { onClose: () => void }) {
  return (
    <Dialog title="Why this answer" isWide onClose={onClose}>
      <AnswerTrace {...ids} />
    </Dialog>
  );
}

/** Why an answer was given. */
export function AnswerTrace({ conversationId, messageId }: AnswerIds) {
  const query = useQuery(messageId, (signal) => api.getTrace({ conversation_id: conversationId, message_id: messageId }, { signal }));
  if (query.error instanceof ApiError && query.error.status === 404) return <p class="quiet">{query.error.message}</p>;
  return <Loaded query={query}>{(trace) => <TraceView trace={trace} />}</Loaded>;
}

/** How an answer came about: the decision, what was found, and the calls of model and tools. */
export function TraceView({ trace }: { trace: Trace }) {
  const { decision, searches, model_calls: models, tool_calls: tools, changed_settings: changed = [] } = trace;
  const isAnswered = decision.outcome === "answered";
  return (
    <div class="stack trace">
      <section class="card" aria-label="Decision">
        <p>
          <span class={`status ${isAnswered ? "ready" : "failed"}`}>{isAnswered ? "Answered" : "Not answered"}</span>
        </p>
        <p>{decision.explanation}</p>
        <p class="quiet">
          Confidence {decision.confidence.toFixed(2)}, threshold {decision.threshold} · {seconds(trace.duration_ms)}
        </p>
        {changed.length > 0 && <p class="quiet">Tried with other settings: {changed.map(labelOf).join(", ").toLowerCase()}</p>}
      </section>
      {searches.map((search, at) => (
        <SearchView key={at} search={search} />
      ))}
      {models.length > 0 && (
        <Calls title="Model" heads={["Model", "Tokens read", "Tokens written", "First word", "In all", "End"]}>
          {models.map((call, at) => (
            <tr key={at}>
              <td>{call.model}</td>
              <td class="number">{call.input_tokens === null ? "–" : formatNumber(call.input_tokens)}</td>
              <td class="number">{call.output_tokens === null ? "–" : formatNumber(call.output_tokens)}</td>
              <td class="number">{call.first_token_ms === null ? "–" : seconds(call.first_token_ms)}</td>
              <td class="number">{seconds(call.duration_ms)}</td>
              <td>{call.failure ?? call.finish ?? "stopped"}</td>
            </tr>
          ))}
        </Calls>
      )}
      {tools.length > 0 && (
        <Calls title="Tools" heads={["Tool", "Arguments", "Result", "In all"]}>
          {tools.map((call, at) => (
            <tr key={at}>
              <td>{call.name}</td>
              <td>
                <code>{call.arguments}</code>
              </td>
              <td>{[call.outcome.replace("_", " "), call.status, call.note].filter((part) => part !== null).join(" · ")}</td>
              <td class="number">{seconds(call.duration_ms)}</td>
            </tr>
          ))}
        </Calls>
      )}
    </div>
  );
}

function SearchView({
  search: { by, query, previous_question: previous, passages, answers, duration_ms: durationMs },
}: {
  search: Search;
}) {
  return (
    <section class="stack" aria-label="What was found">
      <div>
        <h3>
          {by === "tool" ? "The model searched for" : "Found for"} “{query}”
        </h3>
        <p class="quiet">
          {previous !== null && <>Understood together with “{previous}” · </>}
          {seconds(durationMs)}
        </p>
      </div>
      {passages.length + answers.length === 0 && <p class="quiet">Nothing fits. Add a source, or a curated answer with this question.</p>}
      <ol class="stack found">
        {answers.map(({ answer_id: id, question, score, is_cited: isCited }) => (
          <li key={id} class="card">
            <Found title={question} isCited={isCited} facts={`Curated answer · questions ${score.toFixed(2)} alike`} />
          </li>
        ))}
        {passages.map((passage, at) => (
          <li key={at} class="card">
            <Found title={titleOf(passage)} isCited={passage.is_cited} facts={scoresOf(passage)} />
            {passage.content && <p class="plain clamp-5">{passage.content}</p>}
          </li>
        ))}
      </ol>
    </section>
  );
}

function Found({ title, isCited, facts }: { title: ComponentChildren; isCited: boolean; facts: string }) {
  return (
    <div>
      <div class="card-top">
        <strong>{title}</strong>
        {isCited && <span class="status ready">Used</span>}
      </div>
      <p class="quiet">{facts}</p>
    </div>
  );
}

function titleOf({ title, heading, url }: Passage): ComponentChildren {
  const text = heading === null || heading === title ? title : `${title} › ${heading}`;
  if (url === null) return text;
  return (
    <a href={url} target="_blank" rel="noopener noreferrer nofollow">
      {text}
    </a>
  );
}

const SCORE_WORDS = { lexical: "words", semantic: "meaning", reranker: "reranker" } as const;

/** The score, and what it is made of. */
function scoresOf({ score, scores }: Passage): string {
  const parts = (["lexical", "semantic", "reranker"] as const).filter((part) => scores[part] !== null);
  return [`Score ${score.toFixed(2)}`, ...parts.map((part) => `${SCORE_WORDS[part]} ${scores[part]!.toFixed(2)}`)].join(" · ");
}

function Calls({ title, heads, children }: { title: string; heads: readonly string[]; children: ComponentChildren }) {
  return (
    <section class="stack" aria-label={title}>
      <h3>{title}</h3>
      <div class="table-scroll" tabIndex={0} role="region" aria-label={`Calls: ${title}`}>
        <table>
          <thead>
            <tr>
              {heads.map((head) => (
                <th key={head} scope="col">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>{children}</tbody>
        </table>
      </div>
    </section>
  );
}

function seconds(ms: number): string {
  return ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
