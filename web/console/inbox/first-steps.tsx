import { Link } from "wouter-preact";
import { useAgents } from "../agents.tsx";
import { Icon } from "../ui/icon.tsx";
import { Skeleton } from "../ui/states.tsx";

/** What to do until the first conversation, with the steps that are done marked. */
export function FirstSteps() {
  const { data: agents } = useAgents();
  if (!agents) return <Skeleton />;
  const hasKnowledge = agents.some(({ sources_count: sources, answers_count: answers }) => sources + answers > 0);
  const steps = [
    { title: "Create an agent", text: "It answers in the name of your team.", path: "~/settings", isDone: agents.length > 0 },
    { title: "Give it knowledge", text: "A website, a file, a text or a curated answer.", path: "~/knowledge", isDone: hasKnowledge },
    { title: "Try it in the playground", text: "See what it answers, and why.", path: "~/playground" },
    { title: "Put the chat on your website", text: "The settings of an agent have the line to copy.", path: "~/settings" },
  ];
  return (
    <div class="state">
      <h1 class="sr-only only-narrow">Inbox</h1>
      <h2>First steps</h2>
      <p>Conversations appear here as soon as somebody asks your agent.</p>
      <ol class="first-steps">
        {steps.map(({ title, text, path, isDone }) => (
          <li key={title}>
            <Link href={path}>{title}</Link>
            {isDone && (
              <>
                <Icon name="check" size={16} />
                <span class="sr-only"> (done)</span>
              </>
            )}
            <p>{text}</p>
          </li>
        ))}
      </ol>
    </div>
  );
}
