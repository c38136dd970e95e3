import type { ErrorClass } from '@svc/registry'

type BadOption = new (fault: string) => Error

/** The same error, of which the message says before the fault where it is. */
export function faultAt(where: string, Base: ErrorClass<[string]>): BadOption {
  return class extends Base {
    constructor(fault: string) {
      super(`${where}: ${fault}`)
    }
  }
}
