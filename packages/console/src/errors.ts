import { createError } from '@svc/contract'

/**
 * An option is unknown or has an invalid value. Thrown at registration, like the others: the page itself shows the errors of the
 * routes that it uses.
 */
export const CON_ERR_BAD_OPTION = createError<[string]>('CON_ERR_BAD_OPTION', 'Bad option: %s', 500)
/** The files of the page are missing in the package: it was not built. */
export const CON_ERR_NOT_BUILT = createError<[string]>(
  'CON_ERR_NOT_BUILT',
  'The files of the page are missing in %s: install the published package, or build this one',
  500
)
/**
 * The plugin is already registered with this prefix, in whatever scope of the app. Several consoles in one app need prefixes of their
 * own.
 */
export const CON_ERR_REGISTERED_TWICE = createError<[string]>(
  'CON_ERR_REGISTERED_TWICE',
  '@svc/console is already registered with the %s: choose another prefix',
  500
)
