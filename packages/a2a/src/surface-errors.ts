import { createError } from '@svc/contract'
import { surfaceErrors } from '@svc/surface'

/** The credentials are invalid. */
export const A2A_ERR_BAD_TOKEN = createError('A2A_ERR_BAD_TOKEN', 'The credentials are not valid', 401)
/** The caller may not do this. */
export const A2A_ERR_FORBIDDEN = createError<[string]>('A2A_ERR_FORBIDDEN', 'Not allowed%s', 403)
/** The content type of the request or of a part is not supported, or the client accepts no output of the agent; `errors` has the field. */
export const A2A_ERR_CONTENT_TYPE = createError<[string]>(
  'A2A_ERR_CONTENT_TYPE',
  'The content type is not supported: %s',
  415
)

/** The errors that this surface has in common with the others. */
export const errors = surfaceErrors('A2A', '@svc/a2a', {
  RegisteredTwice: '@svc/a2a is registered already with the %s: choose another',
  NoToken: 'Credentials are required',
  InvalidToken: A2A_ERR_BAD_TOKEN,
  MissingScope: class extends A2A_ERR_FORBIDDEN {
    constructor(scope: string) {
      super(`: the scope ${scope} is missing`)
    }
  },
  Forbidden: class extends A2A_ERR_FORBIDDEN {
    constructor() {
      super('')
    }
  },
  CrossOrigin: class extends A2A_ERR_FORBIDDEN {
    constructor() {
      super(' from this origin, or under this host')
    }
  },
  UnsupportedMedia: A2A_ERR_CONTENT_TYPE,
  Internal: 'Internal error'
})
