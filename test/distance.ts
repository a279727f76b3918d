import { env } from "cloudflare:workers";

const OBJECTS = ["GATE", "INDEX", "SESSION", "LEADS", "CONVERSATIONS", "FILES", "LIVE"] as const;
const DATABASES = ["DB", "DB_1"] as const;

type Call = (...args: never[]) => unknown;

/** Wraps a binding, and observes each call of some of its methods. */
function watched<Binding extends object>(binding: Binding, methods: Record<string, (args: unknown[]) => void>): Binding {
  const get = (_: Binding, name: string) => {
    const value: unknown = Reflect.get(binding, name);
    if (typeof value !== "function") return value;
    return (...args: unknown[]) => {
      methods[name]?.(args);
      return (value as Call).apply(binding, args as never[]);
    };
  };
  return new Proxy(binding, { get: (target, name) => get(target, String(name)) });
}

/**
 * The calls of some request that go far: those from the edge, and those from the region to an object that was not told to be
 * there. The edge does nothing while the region's entry works, and nothing after its response.
 */
export async function distantTrips(region: string, request: () => Promise<unknown>): Promise<string[]> {
  const real = { ...env };
  const trips: string[] = [];
  let place: "edge" | "region" | "done" = "edge";
  for (const name of OBJECTS) {
    const isFar = (options: unknown) =>
      place === "edge" || (options as DurableObjectNamespaceGetDurableObjectOptions)?.locationHint !== region;
    Reflect.set(env, name, watched(real[name] as object, { getByName: ([, options]) => void (isFar(options) && trips.push(name)) }));
  }
  for (const name of DATABASES) {
    const note = () => void (place === "edge" && trips.push(name));
    Reflect.set(env, name, watched(real[name], { prepare: note }));
  }
  const enter = async (stub: DurableObjectStub, sent: Request) => {
    trips.push("ENTRY");
    place = "region";
    const response = await stub.fetch(sent);
    place = "done";
    return response;
  };
  const getByName = (...args: Parameters<typeof env.ENTRY.getByName>) => ({
    fetch: (sent: Request) => enter(real.ENTRY.getByName(...args), sent),
  });
  Reflect.set(env, "ENTRY", { getByName });
  try {
    await request();
  } finally {
    for (const name of [...OBJECTS, ...DATABASES, "ENTRY"] as const) Reflect.set(env, name, real[name]);
  }
  return trips;
}
