import type { FastifyInstance } from 'fastify'

// Of all installed copies of the package: it must be found whichever brought the engine.
const kBringer = Symbol.for('@svc/registry/bringer')
type Brought = FastifyInstance & { [kBringer]?: string }

/** Notes which plugin brings the registry and the run engine along. */
export function noteBringer(app: FastifyInstance, plugin: string): void {
  app.decorate(kBringer, plugin)
}

/** The plugin that brought the run engine along; undefined where there is none, or the app registered it itself. */
export function bringerOf(app: FastifyInstance): string | undefined {
  return (app as Brought)[kBringer]
}

/**
 * Makes sure that an app has no run engine yet, for what an engine takes only when it is made.
 * @throws the given error, whose message gets the plugin that the engine came with
 */
export function requireNoEngine(app: FastifyInstance, TooLate: new (plugin: string) => Error): void {
  if (app.hasDecorator('runs')) throw new TooLate(bringerOf(app) ?? '@svc/registry')
}
