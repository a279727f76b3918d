import { useEffect, useRef, useState } from "preact/hooks";
import { api, errorText, type Schemas } from "../api.ts";

/** What takes the place of the agent's settings. */
export type TriedSettings = NonNullable<Schemas["ChatIn"]["settings"]>;

/** A question that was asked here, and its answer as far as it has come. */
export interface Asked {
  question: string;
  /** The confidence that the answer needed; undefined where it is not known. */
  threshold: number | undefined;
  text: string;
  answer?: Schemas["ChatAnswer"];
  error?: string;
}

/** How an agent is asked. */
interface Asking {
  agentId: string;
  threshold: number | undefined;
  settings?: TriedSettings | undefined;
}

/** A conversation of the playground. */
export interface PlaygroundConversation {
  asked: readonly Asked[];
  isAsking: boolean;
  ask: (question: string) => Promise<void>;
  /** Asks the last question again, which failed. */
  retry: () => Promise<void>;
  clear: () => void;
}

/** A conversation on the channel `playground`, whose answers are streamed. */
export function usePlaygroundConversation({ agentId, threshold, settings }: Asking): PlaygroundConversation {
  const [asked, setAsked] = useState<readonly Asked[]>([]);
  const [running, setRunning] = useState<AbortController>();
  const latest = useRef(running);
  latest.current = running;
  useEffect(() => () => latest.current?.abort(), []);
  const askAfter = async (before: readonly Asked[], question: string) => {
    const controller = new AbortController();
    const { signal } = controller;
    let one: Asked = { question, threshold, text: "" };
    const show = (part: Partial<Asked>) => {
      one = { ...one, ...part };
      if (!signal.aborted) setAsked([...before, one]);
    };
    setRunning(controller);
    show({});
    const conversationId = before.findLast(({ answer }) => answer)?.answer?.conversation_id ?? null;
    const body = { message: question, conversation_id: conversationId, channel: "playground", ...(settings && { settings }) } as const;
    try {
      for await (const event of api.streamAnswer({ agent_id: agentId, body }, { signal })) {
        if (event.type === "start") show({ text: "" });
        if (event.type === "delta") show({ text: one.text + event.text });
        if (event.type === "done") show({ text: event.answer.answer, answer: event.answer });
      }
    } catch (error) {
      show({ error: errorText(error) });
    }
    setRunning((current) => (current === controller ? undefined : current));
  };
  return {
    asked,
    isAsking: running !== undefined,
    ask: (question) => askAfter(asked, question),
    retry: () => askAfter(asked.slice(0, -1), asked.at(-1)!.question),
    clear: () => {
      running?.abort();
      setRunning(undefined);
      setAsked([]);
    },
  };
}

/** A case of an evaluation takes so many of the questions before it. */
const MAX_PREVIOUS = 10;

/** What the agent was asked, and has answered or handed over. */
export function questionsOf(asked: readonly Asked[]): string[] {
  return asked
    .filter(({ answer }) => answer)
    .map(({ question }) => question)
    .slice(-MAX_PREVIOUS);
}
