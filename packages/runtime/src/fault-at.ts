import type { FastifyErrorConstructor } from '@fastify/error'

type BadOption = new (fault: string) => Error

/** The same error, of which the message says before the fault where it is. */
export function faultAt(where: string, Base: FastifyErrorConstructor<{ code: string }, [string]>): BadOption {
  return class extends Base {
    constructor(fault: string) {
      super(`${where}: ${fault}`)
    }
  }
}
