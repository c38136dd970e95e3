import type { AccessErrors } from '@svc/registry/kit'
import { A2A_ERR_FORBIDDEN } from '../errors.ts'

/** The errors for callers whom the policy refuses. */
export const ACCESS_ERRORS: AccessErrors = {
  Forbidden: class extends A2A_ERR_FORBIDDEN {
    constructor() {
      super('')
    }
  },
  MissingScope: class extends A2A_ERR_FORBIDDEN {
    constructor(scope: string) {
      super(`: the scope ${scope} is missing`)
    }
  }
}
