import { createError } from '@svc/contract'
import { surfaceErrors } from '@svc/surface'

/** The body is compressed or not UTF-8. */
export const HTTP_ERR_UNSUPPORTED_ENCODING = createError<[string]>(
  'HTTP_ERR_UNSUPPORTED_ENCODING',
  'The encoding of the body is not supported: %s',
  415
)

/** The errors that this surface has in common with the others. */
export const errors = surfaceErrors('HTTP', '@svc/http', {
  RegisteredTwice: '@svc/http is already registered with the %s: choose another',
  BadRequest: '%s',
  UnsupportedMedia: HTTP_ERR_UNSUPPORTED_ENCODING
})
