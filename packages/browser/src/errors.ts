import { createError } from '@svc/contract'

/** An option of a browser, of a browser agent or of browser tools is invalid. */
export const RUN_ERR_BAD_BROWSER = createError<[string]>('RUN_ERR_BAD_BROWSER', 'Bad browser option: %s', 500)
/** No Chromium was found, or `playwright-core` is not installed. */
export const RUN_ERR_BROWSER_MISSING = createError<[string]>('RUN_ERR_BROWSER_MISSING', 'No browser: %s', 500)
/** The browser did not start, or is not safe to use. */
export const RUN_ERR_BROWSER_FAILED = createError<[string, ErrorOptions?]>(
  'RUN_ERR_BROWSER_FAILED',
  'The browser failed: %s',
  500
)
/** The page or the browser crashed; the next action begins with an empty tab. */
export const RUN_ERR_BROWSER_CRASHED = createError(
  'RUN_ERR_BROWSER_CRASHED',
  'The page crashed; open it again, or continue without it',
  502
)
/** All places of the browser were taken for too long. */
export const RUN_ERR_BROWSER_BUSY = createError('RUN_ERR_BROWSER_BUSY', 'All browser tabs are in use', 503)
/** The address or host is not allowed. */
export const RUN_ERR_BROWSER_HOST_REFUSED = createError<[string]>(
  'RUN_ERR_BROWSER_HOST_REFUSED',
  'Not allowed: %s',
  403
)
/** The element is not on the page any more, or never was. */
export const RUN_ERR_BROWSER_STALE_REF = createError<[string]>(
  'RUN_ERR_BROWSER_STALE_REF',
  'There is no element %s on the page any more; look again',
  404
)
/** An action had no effect: the element is covered, disabled or of another kind, or the page did not answer in time. */
export const RUN_ERR_BROWSER_ACTION_FAILED = createError<[string]>(
  'RUN_ERR_BROWSER_ACTION_FAILED',
  'The action failed: %s',
  422
)
/** The pages or a download exceed a limit of bytes. */
export const RUN_ERR_BROWSER_TOO_LARGE = createError<[string]>(
  'RUN_ERR_BROWSER_TOO_LARGE',
  'Too many bytes: %s',
  413
)
