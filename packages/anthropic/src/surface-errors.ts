import { createError, type RunnableKind } from '@svc/contract'
import { surfaceErrors, toRunnableId } from '@svc/surface'

/** No exposed runnable is the agent with this id. */
export const ANTHROPIC_ERR_UNKNOWN_AGENT = createError<[string]>(
  'ANTHROPIC_ERR_UNKNOWN_AGENT',
  'No agent "%s"',
  404
)

/** No runnable of a kind has this name. */
class UnknownAgent extends ANTHROPIC_ERR_UNKNOWN_AGENT {
  constructor(kind: string, name: string) {
    super(toRunnableId(kind as RunnableKind, name))
  }
}

/** The errors that this surface has in common with the others. */
export const errors = surfaceErrors('ANTHROPIC', '@svc/anthropic', {
  ForeignUser: 'The session must be your own',
  UnknownRunnable: UnknownAgent
})
