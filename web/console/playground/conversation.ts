import { useEffect, useRef, useState } from "preact/hooks";
import { api, errorText, type Schemas } from "../api.ts";

/** Settings that replace those of the agent for a question. */
export type TriedSettings = NonNullable<Schemas["ChatIn"]["settings"]>;

/** A question of the playground, and the answer so far. */
export interface Asked {
  question: string;
  /** The confidence that the answer needed; undefined if that is not known. */
  threshold: number | undefined;
  text: string;
  answer?: Schemas["ChatAnswer"];
  error?: string;
}

interface Options {
  agentId: string;
  threshold: number | undefined;
  settings?: TriedSettings | undefined;
  /** The version that answers; by default the published one, or one that is rolled out. */
  version?: "draft" | undefined;
}

export interface PlaygroundConversation {
  asked: readonly Asked[];
  isAsking: boolean;
  ask: (question: string) => Promise<void>;
  /** Asks the last question again after it failed. */
  retry: () => Promise<void>;
  clear: () => void;
}

/** A conversation on the channel `playground`, with streamed answers. */
export function usePlaygroundConversation({ agentId, threshold, settings, version }: Options): PlaygroundConversation {
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
    const other = { ...(settings && { settings }), ...(version && { version }) };
    const body = { message: question, conversation_id: conversationId, channel: "playground", ...other } as const;
    try {
      for await (const event of api.streamAnswer({ agent_id: agentId, body }, { signal })) {
        if (event.type === "start") show({ text: "" });
        if (event.type === "delta") show({ text: one.text + event.text });
        if (event.type === "done") show({ text: event.answer.answer ?? "", answer: event.answer });
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

/** The most previous questions that a case of an evaluation may have. */
const MAX_PREVIOUS = 10;

/** The last questions that the agent has answered or handed over. */
export function questionsOf(asked: readonly Asked[]): string[] {
  return asked
    .filter(({ answer }) => answer)
    .map(({ question }) => question)
    .slice(-MAX_PREVIOUS);
}
