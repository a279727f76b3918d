import worker from "../src/index.ts";

/** The Worker's handler of queue messages. */
export const handleQueue = worker.queue;

// Tests deliver messages themselves. The queues of the test runtime would also deliver them, in the middle of any test.
worker.queue = async () => {};
