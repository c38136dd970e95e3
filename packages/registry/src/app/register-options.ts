import type { RegisterOptions } from 'fastify'

/** The options of a plugin, apart from what Fastify adds to them. */
export interface SplitOptions<Options> {
  readonly options: Omit<Options, keyof RegisterOptions>
  /** Fastify's own, as far as they are given: for the scope of the plugin's routes. */
  readonly registerOptions: RegisterOptions
}

/** Takes what a plugin was registered with apart. */
export function splitRegisterOptions<Options extends object>({
  prefix,
  logLevel,
  logSerializers,
  ...options
}: Options & RegisterOptions): SplitOptions<Options> {
  return {
    options,
    registerOptions: {
      ...(prefix !== undefined && { prefix }),
      ...(logLevel !== undefined && { logLevel }),
      ...(logSerializers !== undefined && { logSerializers })
    }
  }
}
