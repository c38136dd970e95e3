import type { Runnable } from '@svc/contract'
import { A2A_ERR_CONTENT_TYPE } from '../errors.ts'
import { hasPart, haveCommon } from '../model/media-types.ts'
import type { MessagePart } from '../model/message.ts'
import type { SendRequest } from '../model/requests.ts'
import type { Surface } from '../service/surface.ts'

type Agent = Pick<Runnable, 'name' | 'card'>

/** Checks that an agent takes each part of a message. @throws A2A_ERR_CONTENT_TYPE */
export function requireInputModes(
  { inputModes }: Pick<Surface, 'inputModes'>,
  { name, card }: Agent,
  parts: readonly MessagePart[]
): void {
  const modes = card?.inputModes ?? inputModes
  for (const [index, part] of parts.entries()) {
    if (hasPart(modes, part)) continue
    const type = part.mediaType ?? ('data' in part ? 'application/json' : 'text/plain')
    const given = JSON.stringify(type.slice(0, 100))
    throw unsupported(`message.parts.${index}`, `the agent "${name}" takes ${modes.join(', ')}, not ${given}`)
  }
}

/** Checks that an agent has an output that the client accepts. @throws A2A_ERR_CONTENT_TYPE */
export function requireOutputModes(
  { outputModes }: Pick<Surface, 'outputModes'>,
  { name, card }: Agent,
  { acceptedOutputModes: accepted }: Pick<SendRequest, 'acceptedOutputModes'>
): void {
  const modes = card?.outputModes ?? outputModes
  if (accepted === undefined || haveCommon(modes, accepted)) return
  throw unsupported('configuration.acceptedOutputModes', `the agent "${name}" makes ${modes.join(', ')}`)
}

function unsupported(field: string, description: string): Error {
  const errors = [{ field, description }]
  return Object.assign(new A2A_ERR_CONTENT_TYPE(`${field}: ${description}`), { errors })
}
