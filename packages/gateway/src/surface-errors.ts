import { surfaceErrors } from '@svc/surface'

/** The errors that this surface has in common with the others. */
export const errors = surfaceErrors('GTW', '@svc/gateway', {
  RegisteredTwice: '@svc/gateway is already registered with the %s: choose another'
})
