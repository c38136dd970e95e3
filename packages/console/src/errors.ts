import { createError } from '@svc/contract'
import { surfaceErrors } from '@svc/surface'

// Thrown at registration, like the others: the page itself shows the errors of the routes that it uses.
export const { BadOption: CON_ERR_BAD_OPTION, RegisteredTwice: CON_ERR_REGISTERED_TWICE } = surfaceErrors(
  'CON',
  '@svc/console'
)

/** The files of the page are missing in the package: it was not built. */
export const CON_ERR_NOT_BUILT = createError<[string]>(
  'CON_ERR_NOT_BUILT',
  'The files of the page are missing in %s: install the published package, or build this one',
  500
)
