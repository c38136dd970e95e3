import { TypeCompiler } from '@sinclair/typebox/compiler'
import type { Exposures } from '../access/exposures.ts'
import {
  AfterTurnSchema,
  ANONYMOUS,
  isRefusedStart,
  RUN_ERR_NO_TURN,
  RUN_ERR_STORE,
  RUN_ERR_WHEN_BUSY,
  type Runnable,
  type Stores
} from '@svc/contract'
import { sessionOwnerOf } from '../engine/place-run.ts'
import { badInput } from '../engine/require-input.ts'
import type { StartOptions } from '../engine/start-options.ts'

const check = TypeCompiler.Compile(AfterTurnSchema)

/**
 * Checks the turn that a caller named: its session has it, or the run was started before.
 * @throws RUN_ERR_BAD_INPUT, RUN_ERR_WHEN_BUSY, RUN_ERR_NO_TURN, RUN_ERR_STORE
 */
export async function requireAfterTurn(
  { stores, exposures }: { stores: Stores; exposures: Pick<Exposures, 'registryOf'> },
  runnable: Runnable,
  options: StartOptions
): Promise<void> {
  const { afterTurn, sessionId, startKey, principal = ANONYMOUS } = options
  if ((options.whenBusy ?? runnable.whenBusy) === 'steer')
    throw new RUN_ERR_WHEN_BUSY('"steer" joins the run under way, and continues after no other turn')
  if (!check.Check(afterTurn)) throw refuse('must be the id of a run, or null')
  if (sessionId === undefined) throw refuse('must be left out without sessionId')
  const { kind, name, takesTurns } = runnable
  if (takesTurns !== true || stores.sessions.hasTurn === undefined)
    throw refuse(`must be left out: runs of the ${kind} "${name}" take no turns of a session`)
  if (afterTurn === null) return
  const registry = options.registry ?? exposures.registryOf(runnable)
  const key = { registry, kind, name, sessionId, owner: sessionOwnerOf(options) }
  try {
    if (await stores.sessions.hasTurn(key, afterTurn)) return
    if (startKey === undefined) throw new RUN_ERR_NO_TURN(afterTurn)
    const started = await stores.runs.findStarted({ registry, owner: principal.sub, startKey })
    if (started === undefined) throw new RUN_ERR_NO_TURN(afterTurn)
  } catch (err) {
    throw isRefusedStart(err) ? err : new RUN_ERR_STORE({ cause: err })
  }
}

function refuse(message: string): Error {
  return badInput([{ path: 'afterTurn', message }])
}
