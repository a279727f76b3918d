import worker from "../src/index.ts";

/** The Worker's handler of queue messages. */
export const handleQueue = worker.queue;

// Tests deliver messages themselves: a queue would deliver them a minute after the first of a batch, in the middle of any test.
worker.queue = async () => {};
