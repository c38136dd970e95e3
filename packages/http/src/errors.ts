import { createError } from '@svc/registry'

/** An option that is unknown or has a bad value. */
export const HTTP_ERR_BAD_OPTION = createError<[string]>('HTTP_ERR_BAD_OPTION', 'Bad option: %s', 500)
/** The plugin is there already, with the same prefix. */
export const HTTP_ERR_REGISTERED_TWICE = createError<[string]>(
  'HTTP_ERR_REGISTERED_TWICE',
  '@svc/http is registered already with the %s: give this one another',
  500
)
/** The body or the query does not fit the schema of the route; `errors` lists what does not. */
export const HTTP_ERR_VALIDATION = createError<[string]>('HTTP_ERR_VALIDATION', '%s', 400)
/** `Idempotency-Key` is empty, too long, or has other characters than visible ASCII. */
export const HTTP_ERR_BAD_IDEMPOTENCY_KEY = createError(
  'HTTP_ERR_BAD_IDEMPOTENCY_KEY',
  'Idempotency-Key must be 1 to 255 visible ASCII characters',
  400
)
/** The body is no JSON, or JSON that is not taken. */
export const HTTP_ERR_BAD_JSON = createError<[string]>('HTTP_ERR_BAD_JSON', 'Bad JSON: %s', 400)
/** The body is no multipart form, one that is cut short, or one with a field that cannot be taken. */
export const HTTP_ERR_BAD_MULTIPART = createError<[string]>(
  'HTTP_ERR_BAD_MULTIPART',
  'Bad multipart body: %s',
  400
)
/** What was sent is not what `Content-Length` said. */
export const HTTP_ERR_BAD_BODY_LENGTH = createError(
  'HTTP_ERR_BAD_BODY_LENGTH',
  'The body is not as long as Content-Length says',
  400
)
/** The path of the URL cannot be decoded. */
export const HTTP_ERR_BAD_URL = createError('HTTP_ERR_BAD_URL', 'The path of the URL cannot be decoded', 400)
/** `Last-Event-ID` or `after` names no part of the run. */
export const HTTP_ERR_BAD_LAST_EVENT_ID = createError(
  'HTTP_ERR_BAD_LAST_EVENT_ID',
  'Last-Event-ID or "after" must be the number of a part of this run, or 0',
  400
)
/** The request was refused by what stands before the routes, without a code of its own. */
export const HTTP_ERR_BAD_REQUEST = createError<[string]>('HTTP_ERR_BAD_REQUEST', '%s', 400)
/** A token is needed and there is none. */
export const HTTP_ERR_NO_TOKEN = createError('HTTP_ERR_NO_TOKEN', 'A token is needed', 401)
/** The token is not good, whatever the reason. */
export const HTTP_ERR_INVALID_TOKEN = createError('HTTP_ERR_INVALID_TOKEN', 'The token is not valid', 401)
/** The caller does not have the scope. */
export const HTTP_ERR_MISSING_SCOPE = createError<[string]>(
  'HTTP_ERR_MISSING_SCOPE',
  'The scope "%s" is needed',
  403
)
/** The caller may not do this. */
export const HTTP_ERR_FORBIDDEN = createError('HTTP_ERR_FORBIDDEN', 'This is not allowed', 403)
/** `userId` is not the caller's own. */
export const HTTP_ERR_FOREIGN_USER = createError('HTTP_ERR_FOREIGN_USER', 'userId must be your own', 403)
/** The token came in a cookie, with a request that another site's page made. */
export const HTTP_ERR_CROSS_ORIGIN = createError(
  'HTTP_ERR_CROSS_ORIGIN',
  'Not allowed from another origin with a cookie',
  403
)
/** No such route. */
export const HTTP_ERR_ROUTE_NOT_FOUND = createError<[string]>(
  'HTTP_ERR_ROUTE_NOT_FOUND',
  'No route for %s on this path',
  404
)
/** No agent, team or workflow of this name is exposed here. */
export const HTTP_ERR_UNKNOWN_RUNNABLE = createError<[string, string]>(
  'HTTP_ERR_UNKNOWN_RUNNABLE',
  'No %s "%s"',
  404
)
/** The body is larger than `limits.bodyLimit`. */
export const HTTP_ERR_BODY_TOO_LARGE = createError('HTTP_ERR_BODY_TOO_LARGE', 'The body is too large', 413)
/** A file, or all files together, are larger than `fileUpload` permits, or there are too many. */
export const HTTP_ERR_UPLOAD_TOO_LARGE = createError<[string]>(
  'HTTP_ERR_UPLOAD_TOO_LARGE',
  'Upload refused: %s',
  413
)
/** There is such a path, but not for this method; `Allow` has those that it takes. */
export const HTTP_ERR_METHOD_NOT_ALLOWED = createError<[string]>(
  'HTTP_ERR_METHOD_NOT_ALLOWED',
  'This path does not take %s',
  405
)
/** The request did not arrive in time. */
export const HTTP_ERR_REQUEST_TIMEOUT = createError(
  'HTTP_ERR_REQUEST_TIMEOUT',
  'The request did not arrive in time',
  408
)
/** A name in the path is longer than the app's router takes. */
export const HTTP_ERR_URL_TOO_LONG = createError(
  'HTTP_ERR_URL_TOO_LONG',
  'A segment of the path is too long',
  414
)
/** The body is neither `application/json` nor, where uploads are taken, `multipart/form-data`. */
export const HTTP_ERR_UNSUPPORTED_MEDIA_TYPE = createError(
  'HTTP_ERR_UNSUPPORTED_MEDIA_TYPE',
  'The media type of the body is not taken: send application/json',
  415
)
/** The body is compressed, or in another charset than UTF-8. */
export const HTTP_ERR_UNSUPPORTED_ENCODING = createError<[string]>(
  'HTTP_ERR_UNSUPPORTED_ENCODING',
  'The body is not taken: %s',
  415
)
/** The type of a file is not permitted, or its content is of another type than it is said to be. */
export const HTTP_ERR_UPLOAD_TYPE = createError<[string]>('HTTP_ERR_UPLOAD_TYPE', 'Upload refused: %s', 415)
/** The caller came too often. */
export const HTTP_ERR_RATE_LIMITED = createError('HTTP_ERR_RATE_LIMITED', 'Too many requests', 429)
/** The headers are larger than the server takes. */
export const HTTP_ERR_HEADERS_TOO_LARGE = createError(
  'HTTP_ERR_HEADERS_TOO_LARGE',
  'The headers are too large',
  431
)
/** The client went away before its answer was complete; only the log says so. */
export const HTTP_ERR_CLIENT_CLOSED = createError('HTTP_ERR_CLIENT_CLOSED', 'The client went away', 499)
/** Something of ours failed; the log says what. */
export const HTTP_ERR_INTERNAL = createError('HTTP_ERR_INTERNAL', 'Internal Server Error', 500)
/** `jwt` is given, and `@fastify/jwt` is not there. */
export const HTTP_ERR_JWT_NOT_INSTALLED = createError(
  'HTTP_ERR_JWT_NOT_INSTALLED',
  'The option "jwt" needs the package @fastify/jwt: install it',
  500
)
/** The keys that verify tokens cannot be had. */
export const HTTP_ERR_KEYS_UNAVAILABLE = createError(
  'HTTP_ERR_KEYS_UNAVAILABLE',
  'Tokens cannot be verified at the moment',
  503
)
