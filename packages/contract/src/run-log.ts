/** The part of a logger that runs use; Fastify's and pino's loggers fit. */
export interface RunLog {
  debug(details: object, message?: string): void
  info(details: object, message?: string): void
  warn(details: object, message?: string): void
  error(details: object, message?: string): void
}

const drop = () => {}

/** A log that drops everything. */
export const SILENT_LOG: RunLog = Object.freeze({
  debug: drop,
  info: drop,
  warn: drop,
  error: drop
})
