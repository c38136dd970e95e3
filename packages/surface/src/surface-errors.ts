import { createError, type ErrorClass } from '@svc/contract'
import type { ChallengeCodes } from './access/callers.ts'

/** The errors that surfaces have in common. */
export interface SurfaceErrors {
  /** An option is unknown or has an invalid value: 500. */
  readonly BadOption: ErrorClass<[fault: string]>
  /** The plugin is already registered in this place: 500. */
  readonly RegisteredTwice: ErrorClass<[place: string]>
  /** The body is not valid JSON, or JSON that is not accepted: 400. */
  readonly BadJson: ErrorClass<[fault: string]>
  /** A query or a body does not match its schema: 400. */
  readonly BadRequest: ErrorClass<[fault: string]>
  /** The request asks for what the service does not do: 400. */
  readonly Unsupported: ErrorClass<[what: string]>
  /** The last message cannot be the input of a run, or there is none: 400. */
  readonly BadMessage: ErrorClass<[fault: string]>
  /** The request has no token: 401. */
  readonly NoToken: ErrorClass
  /** The token is not valid, for whatever reason: 401. */
  readonly InvalidToken: ErrorClass
  /** The token of an open connection has expired: 401. */
  readonly TokenExpired: ErrorClass
  /** The caller lacks the scope: 403. */
  readonly MissingScope: ErrorClass<[scope: string]>
  /** The policy forbids this: 403. */
  readonly Forbidden: ErrorClass
  /** `userId` names another user: 403. */
  readonly ForeignUser: ErrorClass
  /** A page of another site sent the request, with cookies: 403. */
  readonly CrossOrigin: ErrorClass
  /** No exposed runnable has this name: 404. */
  readonly UnknownRunnable: ErrorClass<[kind: string, name: string]>
  /** The body has more bytes than `bodyLimit`: 413. */
  readonly BodyTooLarge: ErrorClass
  /** The body is not plain JSON in UTF-8: 415. */
  readonly UnsupportedMedia: ErrorClass<[fault: string]>
  /** A connection sent more events than it may: 429. */
  readonly TooManyEvents: ErrorClass
  /** The service failed; the log has the cause: 500. */
  readonly Internal: ErrorClass
  /** The codes of refused callers. */
  readonly challenges: ChallengeCodes
}

type Name = Exclude<keyof SurfaceErrors, 'challenges'>

const COMMON: Readonly<Record<Name, readonly [what: string, message: string, statusCode: number]>> = {
  BadOption: ['BAD_OPTION', 'Bad option: %s', 500],
  RegisteredTwice: ['REGISTERED_TWICE', '%p is already registered with the %s: choose another prefix', 500],
  BadJson: ['BAD_JSON', 'Bad JSON: %s', 400],
  BadRequest: ['BAD_REQUEST', 'Bad request: %s', 400],
  Unsupported: ['UNSUPPORTED', 'Not supported: %s', 400],
  BadMessage: ['BAD_MESSAGE', 'The last message cannot be sent: %s', 400],
  NoToken: ['NO_TOKEN', 'A token is required', 401],
  InvalidToken: ['INVALID_TOKEN', 'The token is not valid', 401],
  TokenExpired: ['TOKEN_EXPIRED', 'The token has expired', 401],
  MissingScope: ['MISSING_SCOPE', 'The scope "%s" is required', 403],
  Forbidden: ['FORBIDDEN', 'This is not allowed', 403],
  ForeignUser: ['FOREIGN_USER', 'userId must be your own', 403],
  CrossOrigin: ['CROSS_ORIGIN', 'Not allowed for pages of another origin', 403],
  UnknownRunnable: ['UNKNOWN_RUNNABLE', 'No %s "%s"', 404],
  BodyTooLarge: ['BODY_TOO_LARGE', 'The body is too large', 413],
  UnsupportedMedia: ['UNSUPPORTED_MEDIA_TYPE', 'Unsupported body: %s', 415],
  TooManyEvents: ['TOO_MANY_EVENTS', 'Too many events', 429],
  Internal: ['INTERNAL', 'Internal Server Error', 500]
}

/**
 * The errors that a surface has in common with the others, with codes of its own: `AGUI_ERR_BAD_OPTION`. Each class is created when it is
 * first read, since not every surface has all of them.
 * @param prefix of the codes
 * @param plugin the name of the package: `@svc/ag-ui`
 * @param own messages, or whole classes, in place of the common ones
 */
export function surfaceErrors(
  prefix: string,
  plugin: string,
  own: { readonly [N in Name]?: string | SurfaceErrors[N] } = {}
): SurfaceErrors {
  const toCode = (name: Name) => `${prefix}_ERR_${COMMON[name][0]}`
  const errors = {} as SurfaceErrors
  for (const name of Object.keys(COMMON) as Name[])
    defineLazily(errors, name, () => {
      const [, common, statusCode] = COMMON[name]
      const given = own[name] ?? common.replace('%p', plugin)
      return typeof given === 'string' ? createError<never>(toCode(name), given, statusCode) : given
    })
  defineLazily(errors, 'challenges', () => ({
    noToken: new errors.NoToken().code,
    invalidToken: new errors.InvalidToken().code,
    missingScope: new errors.MissingScope('').code
  }))
  return errors
}

function defineLazily(errors: SurfaceErrors, name: keyof SurfaceErrors, create: () => unknown): void {
  const get = () => {
    const value = create()
    Object.defineProperty(errors, name, { enumerable: true, value })
    return value
  }
  Object.defineProperty(errors, name, { enumerable: true, configurable: true, get })
}
