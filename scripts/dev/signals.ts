/** The signals that end a script, and what it exits with then: 128 and the signal's number, as shells say it. */
export const SIGNAL_EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;
