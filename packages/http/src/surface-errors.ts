import { surfaceErrors } from '@svc/surface'

/** The errors that this surface has in common with the others. */
export const errors = surfaceErrors('HTTP', '@svc/http', {
  RegisteredTwice: '@svc/http is already registered with the %s: choose another',
  BadRequest: '%s'
})
