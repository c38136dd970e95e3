import { createError } from '@svc/contract'
import { errors } from './surface-errors.ts'

export { HTTP_ERR_UNSUPPORTED_ENCODING } from './surface-errors.ts'

export const {
  BadOption: HTTP_ERR_BAD_OPTION,
  RegisteredTwice: HTTP_ERR_REGISTERED_TWICE,
  BadJson: HTTP_ERR_BAD_JSON,
  BadRequest: HTTP_ERR_BAD_REQUEST,
  NoToken: HTTP_ERR_NO_TOKEN,
  InvalidToken: HTTP_ERR_INVALID_TOKEN,
  MissingScope: HTTP_ERR_MISSING_SCOPE,
  Forbidden: HTTP_ERR_FORBIDDEN,
  ForeignUser: HTTP_ERR_FOREIGN_USER,
  CrossOrigin: HTTP_ERR_CROSS_ORIGIN,
  UnknownRunnable: HTTP_ERR_UNKNOWN_RUNNABLE,
  BodyTooLarge: HTTP_ERR_BODY_TOO_LARGE,
  Internal: HTTP_ERR_INTERNAL
} = errors

/** The body or the query does not match the schema of the route; `errors` lists the faults. */
export const HTTP_ERR_VALIDATION = createError<[string]>('HTTP_ERR_VALIDATION', '%s', 400)
/** `Idempotency-Key` is empty, too long, or not visible ASCII. */
export const HTTP_ERR_BAD_IDEMPOTENCY_KEY = createError(
  'HTTP_ERR_BAD_IDEMPOTENCY_KEY',
  'Idempotency-Key must be 1 to 255 visible ASCII characters',
  400
)
/** The body is no complete multipart form, or has a field that is not accepted. */
export const HTTP_ERR_BAD_MULTIPART = createError<[string]>(
  'HTTP_ERR_BAD_MULTIPART',
  'Bad multipart body: %s',
  400
)
/** The length of the body differs from `Content-Length`. */
export const HTTP_ERR_BAD_BODY_LENGTH = createError(
  'HTTP_ERR_BAD_BODY_LENGTH',
  'The length of the body differs from Content-Length',
  400
)
/** The path of the URL cannot be decoded. */
export const HTTP_ERR_BAD_URL = createError('HTTP_ERR_BAD_URL', 'The path of the URL cannot be decoded', 400)
/** `Last-Event-ID` or `after` is no number. */
export const HTTP_ERR_BAD_LAST_EVENT_ID = createError(
  'HTTP_ERR_BAD_LAST_EVENT_ID',
  'Last-Event-ID or "after" must be the number of a part, or 0',
  400
)
/** No such route. */
export const HTTP_ERR_ROUTE_NOT_FOUND = createError<[string]>(
  'HTTP_ERR_ROUTE_NOT_FOUND',
  'No route for %s on this path',
  404
)
/** A file or all files together exceed the limits of `fileUpload`, or there are too many. */
export const HTTP_ERR_UPLOAD_TOO_LARGE = createError<[string]>(
  'HTTP_ERR_UPLOAD_TOO_LARGE',
  'Upload refused: %s',
  413
)
/** The path exists but not for this method; `Allow` lists the others. */
export const HTTP_ERR_METHOD_NOT_ALLOWED = createError<[string]>(
  'HTTP_ERR_METHOD_NOT_ALLOWED',
  'This path does not support %s',
  405
)
/** The request did not arrive in time. */
export const HTTP_ERR_REQUEST_TIMEOUT = createError(
  'HTTP_ERR_REQUEST_TIMEOUT',
  'The request did not arrive in time',
  408
)
/** A path parameter is longer than the app's router allows. */
export const HTTP_ERR_URL_TOO_LONG = createError(
  'HTTP_ERR_URL_TOO_LONG',
  'A segment of the path is too long',
  414
)
/** The body is neither `application/json` nor, with uploads, `multipart/form-data`. */
export const HTTP_ERR_UNSUPPORTED_MEDIA_TYPE = createError(
  'HTTP_ERR_UNSUPPORTED_MEDIA_TYPE',
  'The media type of the body is not supported: send application/json',
  415
)
/** The type of a file is not permitted, or its content contradicts it. */
export const HTTP_ERR_UPLOAD_TYPE = createError<[string]>('HTTP_ERR_UPLOAD_TYPE', 'Upload refused: %s', 415)
/** The caller exceeded the rate limit. */
export const HTTP_ERR_RATE_LIMITED = createError('HTTP_ERR_RATE_LIMITED', 'Too many requests', 429)
/** The headers are larger than the server allows. */
export const HTTP_ERR_HEADERS_TOO_LARGE = createError(
  'HTTP_ERR_HEADERS_TOO_LARGE',
  'The headers are too large',
  431
)
/** The client disconnected before its reply was complete; appears in the log only. */
export const HTTP_ERR_CLIENT_CLOSED = createError('HTTP_ERR_CLIENT_CLOSED', 'The client disconnected', 499)
/** `jwt` is set but `@fastify/jwt` is not installed. */
export const HTTP_ERR_JWT_NOT_INSTALLED = createError(
  'HTTP_ERR_JWT_NOT_INSTALLED',
  'The option "jwt" requires the package @fastify/jwt: install it',
  500
)
/** The keys that verify tokens are not available. */
export const HTTP_ERR_KEYS_UNAVAILABLE = createError(
  'HTTP_ERR_KEYS_UNAVAILABLE',
  'Tokens cannot be verified right now',
  503
)
