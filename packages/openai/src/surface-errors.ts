import { createError, type RunnableKind } from '@svc/contract'
import { surfaceErrors, toRunnableId } from '@svc/surface'

/** No exposed runnable is the model of this name. */
export const OPENAI_ERR_UNKNOWN_MODEL = createError<[string]>(
  'OPENAI_ERR_UNKNOWN_MODEL',
  'The model "%s" does not exist or you do not have access to it',
  404
)

/** No runnable of a kind has this name. */
class UnknownModel extends OPENAI_ERR_UNKNOWN_MODEL {
  constructor(kind: string, name: string) {
    super(toRunnableId(kind as RunnableKind, name))
  }
}

/** The errors that this surface has in common with the others. */
export const errors = surfaceErrors('OPENAI', '@svc/openai', {
  ForeignUser: 'The conversation must be your own',
  UnknownRunnable: UnknownModel
})
